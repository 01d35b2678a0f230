/**
 * The exactly-once core as a model: two instances crash, lose calls and answers, and interleave at every
 * read, write and call. The steps, rules and states are the product's own (test/support/exactlyOnce/);
 * database, network and provider are in memory, so thousands of schedules run in a minute.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  cancelSession,
  createInstance,
  type Fate,
  type SimulatedInstance,
  type World,
} from '../../../support/exactlyOnce/instance.ts';
import {
  createNetwork,
  createProvider,
  type SimulatedTransaction,
} from '../../../support/exactlyOnce/outside.ts';
import { createPlatform } from '../../../support/exactlyOnce/platform.ts';

/** These take a second or two. To run more: EXACTLY_ONCE_SCHEDULES=10000 */
const SCHEDULES = Number(process.env['EXACTLY_ONCE_SCHEDULES'] ?? 150);
const MAX_COMMANDS = 120;
/** Maximum rounds of undisturbed work: far more than all steps that one schedule can cause. */
const MAX_ROUNDS = 10_000;

interface System {
  world: World;
  instances: readonly SimulatedInstance[];
}

type Act = (system: System) => Promise<void> | void;
type Command = fc.AsyncCommand<object, System>;

function command(name: string, act: Act): Command {
  return {
    check: () => true,
    async run(_, system) {
      await act(system);
      neverTwice(system.world);
    },
    toString: () => name,
  };
}

const ORDERLY = Array.from({ length: 5 }, () => 'happens' as const);
const choice = fc.nat({ max: 60 });
const anInstance = fc.nat({ max: 1 });
const fates = fc.constantFrom<Fate>(
  ...ORDERLY,
  'never-arrives',
  'answer-is-lost',
  'is-refused',
  'is-unknown',
);
const payoutMoves = fc.constantFrom('processing', 'settled', 'failed', 'refunded');
const work = fc
  .tuple(anInstance, fates, choice)
  .map(([i, fate, which]) =>
    command(`instance ${i} goes on with ${which}: ${fate}`, ({ instances }) =>
      instances[i]?.goOn(fate, which),
    ),
  );

const COMMANDS: fc.Arbitrary<Command>[] = [
  work,
  work,
  work,
  work,
  work,
  work,
  anInstance.map((i) => command(`instance ${i} crashes`, ({ instances }) => instances[i]?.crash())),
  fc.constant(command('a retirement is asked for', ({ world }) => world.platform.beginRetirement())),
  fc.constant(command('a cash-out is asked for', ({ world }) => world.platform.beginSession())),
  choice.map((which) => command(`cash-out ${which} is cancelled`, ({ world }) => cancel(world, which))),
  choice.map((which) =>
    command(`submission ${which} is reviewed and resumed`, ({ world }) => resume(world, which)),
  ),
  choice.map((which) =>
    command(`the network includes ${which}`, ({ world }) => world.network.include(which)),
  ),
  choice.map((which) => command(`the network refuses ${which}`, ({ world }) => refuse(world, which))),
  fc.constant(command('the node forgets what waits', ({ world }) => world.network.dropWaiting())),
  fc.nat({ max: 15 }).map((by) => command(`${by} pass`, ({ world }) => void (world.network.now += by))),
  fc
    .tuple(choice, payoutMoves)
    .map(([which, to]) => command(`payout ${which}: ${to}`, ({ world }) => world.provider.moveOn(which, to))),
];

function refuse({ network }: World, which: number): void {
  network.isPaused = true;
  network.include(which);
  network.isPaused = false;
}

/** An operator resumes a submission, which another instance has sent to review, if it is not there yet. */
function resume({ platform }: World, which: number): void {
  const open = [...platform.submissions.values()].filter(
    ({ submission: { state } }) => state === 'PENDING' || state === 'NEEDS_REVIEW',
  );
  const submission = open[which % Math.max(open.length, 1)]?.submission;
  if (submission === undefined) return;
  const attemptHash = platform.openAttempts(submission.id)[0]?.hash ?? null;
  const cause = { cause: 'UNDETERMINABLE', reason: 'history is gone' } as const;
  if (submission.state === 'PENDING')
    platform.settle({ ...submission }, { kind: 'needsReview', attemptHash, ...cause });
  platform.resume(submission.id);
}

function cancel(world: World, which: number): void {
  const [id] = [...world.platform.sessions.keys()].slice(which % Math.max(world.platform.sessions.size, 1));
  if (id !== undefined) cancelSession(world, id);
}

it(
  'burns once, gives back what can no longer be burned or deposited, and never both settles and refunds, whatever fails and when',
  { timeout: 600_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.commands(COMMANDS, { maxCommands: MAX_COMMANDS, size: 'max' }),
        async (schedule) => {
          let system: System | null = null;
          await fc.asyncModelRun(() => ({ model: {}, real: (system = createSystem()) }), schedule);
          if (system) await comesToRest(system);
        },
      ),
      { numRuns: SCHEDULES },
    );
  },
);

function createSystem(): System {
  const world = {
    platform: createPlatform(),
    network: createNetwork(),
    provider: createProvider(),
    signatures: 0,
  };
  return { world, instances: [createInstance(world), createInstance(world)] };
}

/** Replaces `expect`: a hundred thousand calls of `expect` would take longer than the schedules. */
function requireThat(isSo: boolean, whatIsWrong: () => string): void {
  if (!isSo) throw new Error(whatIsWrong());
}

/** Requires what must hold at every moment. */
function neverTwice(world: World): void {
  const { platform, network, provider } = world;
  for (const [retirement, credits] of platform.credits) {
    const burns = network.burns.get(retirement) ?? 0;
    requireThat(burns <= 1, () => `${burns} burns of ${retirement}`);
    if (credits === 'BURNED') requireThat(burns === 1, () => `${retirement} is burned, in ${burns} burns`);
    if (credits === 'RETURNED') {
      requireThat(burns === 0, () => `${retirement} was given back, and burned`);
      expectNothingToCome(world, retirement);
    }
  }
  for (const [id, session] of platform.sessions) {
    const isPaid = provider.payouts.get(id) === 'settled';
    if (isPaid && network.deposits.get(id) === 'REFUNDED')
      requireThat(session.state === 'NEEDS_REVIEW', () => `${id} is paid and refunded, and ${session.state}`);
    if (session.state === 'CLOSED') expectNothingToCome(world, id);
  }
}

/**
 * Requires that no burn or deposit of the target is under way or can still land, because its reserved credits
 * or tokens may be promised again.
 */
function expectNothingToCome({ platform, network }: World, targetId: string): void {
  for (const { submission, attempts } of platform.submissions.values()) {
    if (submission.targetId !== targetId) continue;
    requireThat(
      submission.state === 'REFUSED',
      () => `${submission.kind} of ${targetId} is ${submission.state}`,
    );
    const transactions = attempts.map(
      ({ signedBytes }) => JSON.parse(String(signedBytes)) as SimulatedTransaction,
    );
    requireThat(!transactions.some(network.canStillLand), () => `something can land for ${targetId}`);
  }
}

/**
 * Runs without faults until the network has included all transactions, and the provider ended all payouts.
 */
async function comesToRest({ world, instances }: System): Promise<void> {
  const { platform, network, provider } = world;
  network.isPaused = false;
  const next = choices();
  for (let round = 0; !isAtRest(world); round++) {
    requireThat(
      round < MAX_ROUNDS,
      () => `no rest after ${round} rounds: ${JSON.stringify([...platform.sessions])}`,
    );
    for (const { submission } of platform.submissions.values())
      if (submission.state === 'NEEDS_REVIEW') platform.resume(submission.id);
    for (const instance of instances) await instance.goOn('happens', next());
    network.include(next());
    if (round % 10 === 0) network.now++;
    if (round % 5 === 0) provider.moveOn(next(), next() % 2 === 0 ? 'settled' : 'failed');
    neverTwice(world);
  }
  for (const [retirement, credits] of platform.credits) {
    expect(credits, retirement).toBe(network.burns.get(retirement) === 1 ? 'BURNED' : 'RETURNED');
  }
  for (const [id, { state }] of platform.sessions) {
    const ends = { SETTLED: 'SETTLED', REFUNDED: 'REFUNDED', CLOSED: undefined };
    if (state in ends) expect(network.deposits.get(id), id).toBe(ends[state as keyof typeof ends]);
    if (state === 'CLOSED') expect(provider.payouts.get(id) ?? 'failed', id).toBe('failed');
  }
}

/** Returns the same numbers in each run (Lehmer's generator). */
function choices(): () => number {
  let last = 1;
  return () => (last = (last * 48_271) % 2_147_483_647);
}

function isAtRest({ platform, provider }: World): boolean {
  const isOver = ({ submission: { state } }: { submission: { state: string } }) =>
    state === 'SUCCEEDED' || state === 'REFUSED';
  return (
    [...platform.submissions.values()].every(isOver) &&
    [...platform.sessions].every(([id, { state, providerStatus }]) =>
      state === 'NEEDS_REVIEW' || state === 'SETTLED' || state === 'REFUNDED'
        ? true
        : state === 'CLOSED' && (provider.payouts.get(id) ?? 'failed') === (providerStatus ?? 'failed'),
    )
  );
}
