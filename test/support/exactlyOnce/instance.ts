/**
 * One instance of the platform in the exactly-once model. It steps submissions with the product's own
 * step.ts, and sessions as stepOffRampSession.ts does. Each of its reads, writes and calls waits for the
 * schedule, which lets it happen, lets it fail on the way there or back, or ends the instance.
 */
import { ConnectionLost } from '../../../src/db/connectionLost.ts';
import { NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { step } from '../../../src/ledger/submission/step.ts';
import type { StepStore } from '../../../src/ledger/submission/stepStore.ts';
import type { SubmissionDependencies } from '../../../src/ledger/submission/submission.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import type { RampStatus } from '../../../src/ramp/port.ts';
import { contradiction, isEnd } from '../../../src/resolvers/warehouse/offRamp/offRampMoves.ts';
import { WAITING_FOR_PROVIDER } from '../../../src/resolvers/warehouse/offRamp/transitions.ts';
import type { SimulatedNetwork, SimulatedProvider, SimulatedTransaction } from './outside.ts';
import { found, type SimulatedPlatform } from './platform.ts';

/**
 * `is-refused`: the network refuses, if it is asked to simulate a call at this moment. `is-unknown`: the node
 * lacks the history, if it is asked for an outcome.
 */
export type Fate = 'happens' | 'never-arrives' | 'answer-is-lost' | 'is-refused' | 'is-unknown';

export interface SimulatedInstance {
  /** Gives this fate to the next read, write or call; begins some work when none is under way. */
  goOn(fate: Fate, choice: number): Promise<void>;
  /** Discards the work under way, with all its knowledge. */
  crash(): void;
}

export interface World {
  platform: SimulatedPlatform;
  network: SimulatedNetwork;
  provider: SimulatedProvider;
  /** Number of signatures; gives each attempt a unique hash. */
  signatures: number;
}

interface Waiting {
  run: () => unknown;
  lost: () => Error;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** In units of the simulated clock, which each command moves by a few. */
const VALID_FOR = 12;

const NOW = new Date(0);
const log = createLogger({ level: 'silent', pretty: false });

export function createInstance(world: World): SimulatedInstance {
  let waiting: Waiting[] = [];
  let isAtWork = false;
  let life = 0;
  const defects: unknown[] = [];

  const until = <T>(run: () => T, lost: () => Error) =>
    new Promise<T>((resolve, reject) => {
      waiting.push({ run, lost, resolve: resolve as Waiting['resolve'], reject });
    });
  const io: Io = {
    database: (run) => until(run, () => new ConnectionLost('lost')),
    outside: (run) => until(run, () => new NetworkUnavailable('lost')),
  };

  function begin(choice: number): void {
    const { platform } = world;
    const tasks = [
      ...[...platform.submissions.values()].filter(({ submission }) => submission.state === 'PENDING'),
      ...platform.sessions.keys(),
    ];
    const task = tasks[choice % Math.max(tasks.length, 1)];
    if (task === undefined) return;
    isAtWork = true;
    const began = life;
    const work =
      typeof task === 'string'
        ? stepSession(world, io, task)
        : step(dependenciesOf(world, io), storeOf(world, io), { ...task.submission });
    void finish(work, began);
  }

  async function finish(work: Promise<unknown>, began: number): Promise<void> {
    try {
      await work;
    } catch (error) {
      // Work that failed with these errors is repeated; any other error is a defect of the rules.
      if (!(error instanceof ConnectionLost) && !(error instanceof NetworkUnavailable)) defects.push(error);
    }
    if (began === life) isAtWork = false;
  }

  return {
    async goOn(fate, choice) {
      if (!isAtWork) begin(choice);
      const next = waiting.shift();
      if (next) {
        try {
          world.network.isPaused = fate === 'is-refused';
          world.network.isForgetful = fate === 'is-unknown';
          const value = fate === 'never-arrives' ? undefined : next.run();
          if (fate === 'never-arrives' || fate === 'answer-is-lost') next.reject(next.lost());
          else next.resolve(value);
        } catch (error) {
          next.reject(error as Error);
        }
      }
      // Lets all code run that follows without waiting.
      await new Promise((resolve) => setImmediate(resolve));
      if (defects.length > 0) throw defects[0];
    },
    crash() {
      waiting = [];
      isAtWork = false;
      life++;
    },
  };
}

interface Io {
  database<T>(run: () => T): Promise<T>;
  outside<T>(run: () => T): Promise<T>;
}

function dependenciesOf(world: World, io: Io): SubmissionDependencies {
  const { network } = world;
  const inBytes = (transaction: SimulatedTransaction) => Buffer.from(JSON.stringify(transaction, noBigints));
  const fromBytes = (bytes: Uint8Array) => JSON.parse(String(bytes), bigints) as SimulatedTransaction;
  const adapter: Partial<LedgerNetwork> = {
    signingOrder: null,
    draft: (call) =>
      io.outside(() => {
        network.simulate(call);
        return {
          async sign() {
            const hash = `transaction ${world.signatures++}`;
            const validUntil = network.now + VALID_FOR;
            return {
              hash,
              signedBytes: inBytes({ hash, call, validUntil }),
              source: 'custody',
              sequence: null,
              validUntil: BigInt(validUntil),
              preparedAtLedger: 0n,
            };
          },
        };
      }),
    broadcast: (bytes) =>
      io.outside(() => {
        network.receive(fromBytes(bytes));
        return { status: 'accepted' };
      }),
    outcome: ({ signedBytes = new Uint8Array() }) =>
      io.outside(() => network.outcome(fromBytes(signedBytes))),
    replace: async () => null,
  };
  const none = {} as never;
  const releases = { confirmOffRampSettlement: none, refundOffRamp: none };
  return {
    network: adapter as LedgerNetwork,
    effects: {
      CUSTODY: { RETIREMENT: { retire: none }, OFF_RAMP_SESSION: { depositOffRamp: none, ...releases } },
      HOLDER: {},
    },
    log,
    crashPoint: async () => {},
  } as Partial<SubmissionDependencies> as SubmissionDependencies;
}

function storeOf({ platform }: World, io: Io): StepStore {
  return {
    readAttempts: (id) =>
      io.database(() => ({
        open: platform.openAttempts(id),
        lastNumber: found(platform.submissions.get(id), id).attempts.length,
      })),
    readSigningState: async () => null,
    readCauses: (id) => io.database(() => found(platform.submissions.get(id), id).attempts.map(() => null)),
    async sign({ intent, draft }) {
      const prepared = await draft.sign(null);
      return io.database(() => platform.sign(intent.submissionId, prepared));
    },
    endAttempts: (_, open) => io.database(() => platform.endAttempts(open.map(({ hash }) => hash))),
    settle: (submission, conclusion) => io.database(() => platform.settle(submission, conclusion)),
  };
}

/**
 * Steps a session of custody as stepOffRampSession.ts does: asks outside first, then writes under the lock.
 */
async function stepSession({ platform, network, provider }: World, io: Io, id: string): Promise<void> {
  const session = found(platform.sessions.get(id), id);
  const { state, providerAskedAt, providerSessionId, stateReason, cancelRequestedAt, providerStatus } =
    await io.database(() => ({ ...session }));
  const storeOpened = (status: RampStatus) =>
    io.database(() => {
      const isLate = session.state === 'CLOSED' && session.providerSessionId === null;
      if (!isLate && session.state !== 'OPENING') return;
      session.providerSessionId = id;
      if (isLate) return platform.apply(id, 'opened');
      platform.record(id, status);
      const hasFailed = status === 'failed' && session.stateReason === null;
      platform.apply(id, hasFailed ? 'providerFailed' : 'opened');
      if (hasFailed) session.stateReason = 'failed at once';
    });

  if (state === 'OPENING') {
    const known = providerAskedAt && (await io.outside(() => provider.payouts.get(id)));
    if (known) return storeOpened(known);
    if (stateReason !== null) {
      return io.database(() => {
        if (session.state === 'OPENING') platform.apply(id, 'openingEnded');
      });
    }
    const isIntended = await io.database(() => {
      if (session.state !== 'OPENING' || session.stateReason !== null) return false;
      session.providerAskedAt ??= NOW;
      return true;
    });
    return isIntended ? storeOpened(await io.outside(() => provider.open(id))) : undefined;
  }
  if (providerSessionId === null) {
    const known = providerAskedAt && (await io.outside(() => provider.payouts.get(id)));
    return known ? storeOpened(known) : undefined;
  }
  if (state === 'CLOSING') {
    const deposit = await io.outside(() => network.deposits.get(id));
    const status = deposit === 'PENDING' ? null : await io.outside(() => provider.close(id));
    return io.database(() => {
      if (session.state !== 'CLOSING') return;
      if (status === null) {
        platform.apply(id, 'deposited');
        session.depositedAt = NOW;
        return;
      }
      platform.record(id, status);
      const isOwed = status === 'settled' && session.cancelRequestedAt === null;
      if (status === 'failed') platform.apply(id, 'closed');
      else if (isEnd(status)) platform.apply(id, isOwed ? 'paid' : 'undecidable');
    });
  }
  const isToBeClosed = state === 'CLOSED' || (state === 'AWAITING_PAYOUT' && cancelRequestedAt !== null);
  const status = await io.outside(() =>
    isToBeClosed && !isEnd(providerStatus) ? provider.close(id) : found(provider.payouts.get(id), id),
  );
  await io.database(() => {
    const isNew = platform.record(id, status);
    if (session.state === 'AWAITING_PAYOUT') {
      if (status === 'settled') platform.apply(id, 'paid');
      else if (status === 'failed') platform.apply(id, 'notPaid');
      else if (status === 'refunded') platform.apply(id, 'undecidable');
    } else if (isNew && contradiction(session.state, status) !== null) {
      platform.apply(id, 'undecidable');
    }
  });
}

/** Cancels the session as cancelCashOut.ts does, if it may still be cancelled. */
export function cancelSession({ platform }: World, id: string): void {
  const session = found(platform.sessions.get(id), id);
  const isPaid = session.providerStatus === 'settled' || session.providerStatus === 'refunded';
  if (!WAITING_FOR_PROVIDER.includes(session.state) || isPaid || session.cancelRequestedAt !== null) return;
  const isUnderWay = [...platform.submissions.values()].some(
    ({ submission: { targetId, kind, state } }) =>
      targetId === id && kind === 'depositOffRamp' && (state === 'PENDING' || state === 'NEEDS_REVIEW'),
  );
  const { state } = session;
  platform.apply(id, 'cancelled', isUnderWay);
  session.cancelRequestedAt = NOW;
  if (state !== 'AWAITING_PAYOUT') session.stateReason = 'cancelled';
}

const noBigints = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);
const bigints = (_: string, value: unknown) =>
  typeof value === 'string' && /^\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value;
