/**
 * Cash-outs whose deposit a holder signs, with faults: lost answers, time that runs out, wallets that send on
 * their own or late, providers that pay too early. Nothing is deposited twice, lost, or paid for unnoticed.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Tx } from '../../../src/db/connection.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { holderActs, offRampSessions, submissions } from '../../../src/db/tables/index.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { findHolderAct } from '../../../src/resolvers/wallets/findHolderAct.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { pledgeReceipt } from '../../../src/resolvers/warehouse/pledgeReceipt.ts';
import { cancelCashOut } from '../../../src/resolvers/warehouse/offRamp/cancelCashOut.ts';
import { prepareCashOutDeposit } from '../../../src/resolvers/wallets/prepareCashOutDeposit.ts';
import { stepOffRampSession } from '../../../src/resolvers/warehouse/offRamp/stepOffRampSession.ts';
import { lateDepositPollMs } from '../../../src/resolvers/warehouse/offRamp/schedules.ts';
import { submitSigned } from '../../../src/resolvers/wallets/submitSigned.ts';
import {
  createEmbeddedHolder,
  startEmbeddedWallets,
  type EmbeddedWallets,
} from '../../support/wallets/embeddedWallets.ts';
import { changePastRules } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import type { FaultPlan } from '../../support/faults/faultyNetwork.ts';
import {
  depositInputOf,
  letSigningTimePass,
  prepareDeposit,
  useReference,
} from '../../support/wallets/walletCashOuts.ts';
import {
  attemptsOfSubmission,
  EVENTUALLY,
  sendPastUs,
  stateOfAct,
} from '../../support/wallets/walletWorld.ts';
import {
  activeReceipt,
  decideReviewOf,
  decideSession,
  farmer,
  makeDue,
  pledgeInput,
  providerSays,
  reaches,
} from '../../support/warehouse.ts';
import { readReviews } from '../../support/histories.ts';

let world: EmbeddedWallets;
let network: EmbeddedWallets['network'];
let platform: EmbeddedWallets['platform'];
let receipt: TokenizedReceipt;
let faults: FaultPlan = () => null;
const holder = createEmbeddedHolder();

beforeAll(async () => {
  world = await startEmbeddedWallets((...call) => faults(...call));
  ({ network, platform } = world);
  receipt = await activeReceipt(platform, { farmerAddress: holder.address, quantityKg: 50_000n });
});
afterEach(() => {
  faults = () => null;
});
afterAll(async () => {
  const { findings } = await reconcileAll(platform.dependencies);
  await world.stop();
  expect(findings).toEqual([]);
});

const prepareToDeposit = () => prepareDeposit(world, holder, depositInputOf(receipt, holder));
const impatient = () => ({ ...platform.dependencies, mutationWaitMs: 200 });

const attemptsOf = (submissionId: string | undefined) => attemptsOfSubmission(platform, submissionId);
const stateOf = (actId: string) => stateOfAct(platform, actId);

const lookNow = (sessionId: string) => makeDue(platform, sessionId, { fruitlessSteps: 0 });

async function looksAt(sessionId: string): Promise<number> {
  return (await findOffRampSession(platform.dependencies, sessionId))?.fruitlessSteps ?? 0;
}

/** A look of an instance that is paused once the provider has answered, and goes on when that is done. */
async function pausedLook(
  id: string,
  meanwhile: () => Promise<void>,
  on: LedgerNetwork = platform.dependencies.network,
): Promise<void> {
  const { dependencies } = platform;
  const { ramp } = dependencies;
  const getStatus = async (sessionId: string) => {
    const answer = await ramp.getStatus(sessionId);
    await meanwhile();
    return answer;
  };
  const session = await findOffRampSession(dependencies, id);
  if (session === null) throw new Error('it has vanished');
  await stepOffRampSession({ ...dependencies, network: on, ramp: { ...ramp, getStatus } }, session);
}

it('is given back when it lands late, also when another provider is configured by then', async () => {
  const { session, act } = await prepareToDeposit();
  await providerSays(platform, session.providerSessionId ?? '', 'failed');
  await reaches(platform, session.id, 'CLOSED');
  const name = (provider: string) =>
    changePastRules(
      world.database,
      sql`UPDATE ${offRampSessions} SET provider_name = ${provider} WHERE id = ${session.id}`,
    );
  await name('old-ramp');
  await sendPastUs(world, holder, act);
  const { ramp } = platform.dependencies;
  const asked: string[] = [];
  const noting = async (sessionId: string) => {
    asked.push(sessionId);
    return { status: 'failed' } as const;
  };
  platform.dependencies.ramp = { ...ramp, getStatus: noting, closeSession: noting };
  await lookNow(session.id);
  await reaches(platform, session.id, 'REFUNDED');
  platform.dependencies.ramp = ramp;
  expect(asked).not.toContain(session.providerSessionId);
  await name(ramp.name);
});

describe('a signed deposit', () => {
  it('that died leaves the session waiting for another signature', async () => {
    faults = (method) => (method === 'broadcast' ? 'unreachable' : null);
    const input = depositInputOf(receipt, holder);
    const { session, act } = await prepareDeposit(world, holder, input);
    await submitSigned(impatient(), act, await holder.sign(act.unsigned));
    expect(await findOffRampSession(platform.dependencies, session.id)).toMatchObject({
      state: 'DEPOSITING',
    });
    await network.advanceClock(3600);
    const waiting = await reaches(platform, session.id, 'AWAITING_SIGNATURE');
    expect(waiting.stateReason).toContain('prepare a new act');
    faults = () => null;
    const anew = await prepareDeposit(world, holder, input);
    expect(anew.session.id).toBe(session.id);
    expect(anew.act.id).not.toBe(act.id);
    await submitSigned(platform.dependencies, anew.act, await holder.sign(anew.act.unsigned));
    const reached = await reaches(platform, session.id, 'AWAITING_PAYOUT');
    expect(reached.stateReason).toBeNull();
    await providerSays(platform, session.providerSessionId ?? '', 'failed');
    await reaches(platform, session.id, 'REFUNDED');
  });

  it('that the wallet sent as well is deposited once', async () => {
    const { session, act } = await prepareToDeposit();
    const signed = await holder.sign(act.unsigned);
    await Promise.allSettled([
      sendPastUs(world, holder, act),
      submitSigned(platform.dependencies, act, signed),
      submitSigned(platform.dependencies, act, signed),
    ]);
    await reaches(platform, session.id, 'AWAITING_PAYOUT');
    await providerSays(platform, session.providerSessionId ?? '', 'settled');
    const settled = await reaches(platform, session.id, 'SETTLED');
    const { submission } = (await findHolderAct(platform.dependencies, act.id)) ?? {};
    expect(settled.depositTxHash).toBe(submission?.txHash);
    expect(await attemptsOf(submission?.id)).toMatchObject([{ state: 'LANDED' }]);
  });

  it('that the wallet has sent is taken back late, and only makes its transaction known', async () => {
    const { session, act } = await prepareToDeposit();
    await sendPastUs(world, holder, act);
    await reaches(platform, session.id, 'AWAITING_PAYOUT');
    const landed = await submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
    expect(landed).toMatchObject({ state: 'LANDED' });
    const known = await findOffRampSession(platform.dependencies, session.id);
    expect(known?.depositTxHash).toBe(landed.submission?.txHash);
    await providerSays(platform, session.providerSessionId ?? '', 'failed');
    await reaches(platform, session.id, 'REFUNDED');
  });

  it('that the wallet has sent after the end is given back as soon as it is shown', async () => {
    const { session, act } = await prepareToDeposit();
    await providerSays(platform, session.providerSessionId ?? '', 'failed');
    await reaches(platform, session.id, 'CLOSED');
    const signed = await holder.sign(act.unsigned);
    await expect(submitSigned(platform.dependencies, act, signed)).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    await sendPastUs(world, holder, act);
    await submitSigned(platform.dependencies, act, signed);
    expect(await reaches(platform, session.id, 'REFUNDED')).toMatchObject({ resolution: 'REFUND' });
  });

  it('that is seen while its session is closed takes away the reason for that', async () => {
    const { session, act } = await prepareToDeposit();
    const { ramp } = platform.dependencies;
    const away = () => Promise.reject(new DomainError('RAMP_UNAVAILABLE', 'away'));
    platform.dependencies.ramp = { ...ramp, closeSession: away };
    await cancelCashOut(impatient(), farmer, { offRampSessionId: session.id, idempotencyKey: randomUUID() });
    expect(await reaches(platform, session.id, 'CLOSING')).toMatchObject({
      stateReason: 'it was cancelled',
    });
    await sendPastUs(world, holder, act);
    await lookNow(session.id);
    expect(await reaches(platform, session.id, 'AWAITING_PAYOUT')).toMatchObject({ stateReason: null });
    platform.dependencies.ramp = ramp;
    await lookNow(session.id);
    await reaches(platform, session.id, 'REFUNDED');
  });

  it('is prepared once for two requests at once', async () => {
    const { dependencies } = platform;
    const input = depositInputOf(receipt, holder, { tokenAmount: 1n });
    const first: unknown[] = [];
    const overtaken: typeof dependencies.network = {
      ...dependencies.network,
      async prepareForHolder(...asked) {
        if (first.length === 0)
          first.push((await prepareCashOutDeposit(dependencies, farmer, input)).act?.id);
        return dependencies.network.prepareForHolder(...asked);
      },
    };
    const second = await prepareCashOutDeposit({ ...dependencies, network: overtaken }, farmer, input);
    expect([second.act?.id]).toEqual(first);
  });

  it('of two for one session lands once, and the other is not even sent', async () => {
    const input = depositInputOf(receipt, holder);
    const first = await prepareDeposit(world, holder, input);
    // Simulates that the first act was prepared two minutes ago.
    await world.database.handle.sql`ALTER TABLE holder_acts DISABLE TRIGGER holder_acts_rules`;
    await platform.dependencies.db
      .update(holderActs)
      .set({ createdAt: sql`now() - interval '2 minutes'` })
      .where(eq(holderActs.id, first.act.id));
    await world.database.handle.sql`ALTER TABLE holder_acts ENABLE TRIGGER holder_acts_rules`;
    const second = await prepareDeposit(world, holder, input);
    expect(second.act.id).not.toBe(first.act.id);
    const signed = await Promise.all([first, second].map(({ act }) => holder.sign(act.unsigned)));
    const results = await Promise.allSettled([
      submitSigned(platform.dependencies, first.act, signed[0] ?? ''),
      submitSigned(platform.dependencies, second.act, signed[1] ?? ''),
    ]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const [rejected] = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as Error] : [],
    );
    expect(rejected).toMatchObject({ code: 'CONFLICT' });
    await reaches(platform, first.session.id, 'AWAITING_PAYOUT');
  });

  /**
   * A deposit sent to a network where nothing expires, and not landed; the time for its signature has passed.
   */
  async function sentLongAgo(of = receipt) {
    faults = (method) => (method === 'broadcast' ? 'unreachable' : null);
    const { session, act } = await prepareDeposit(world, holder, depositInputOf(of, holder));
    const pending = await submitSigned(impatient(), act, await holder.sign(act.unsigned));
    await world.database.handle.sql`ALTER TABLE holder_acts DISABLE TRIGGER holder_acts_rules`;
    await platform.dependencies.db
      .update(holderActs)
      .set({ validUntil: null })
      .where(eq(holderActs.id, act.id));
    await world.database.handle.sql`ALTER TABLE holder_acts ENABLE TRIGGER holder_acts_rules`;
    await letSigningTimePass(world);
    return { session, act, pending };
  }

  it('that was paid is awaited again for as long as a new one, once an operator says so', async () => {
    const own = await activeReceipt(platform, { farmerAddress: holder.address });
    const { session } = await sentLongAgo(own);
    await lookNow(session.id);
    await reaches(platform, session.id, 'CLOSED');
    // What is under way may land all the same.
    await pledgeReceipt(platform.dependencies, farmer, pledgeInput(own));
    await providerSays(platform, session.providerSessionId ?? '', 'settled');
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    expect(await decideReviewOf(platform, session.id, 'RETRY')).toMatchObject({ state: 'DEPOSITING' });
    await lookNow(session.id);
    await expect.poll(() => looksAt(session.id), EVENTUALLY).toBeGreaterThan(0);
    expect(await findOffRampSession(platform.dependencies, session.id)).toMatchObject({
      state: 'DEPOSITING',
    });
    faults = () => null;
    await reaches(platform, session.id, 'SETTLED');
  });

  it('is awaited anew whatever an instance knows that was paused before an operator said so', async () => {
    const { session } = await sentLongAgo();
    await pausedLook(session.id, async () => {
      await providerSays(platform, session.providerSessionId ?? '', 'settled');
      await reaches(platform, session.id, 'NEEDS_REVIEW');
      await decideReviewOf(platform, session.id, 'RETRY');
    });
    expect(await findOffRampSession(platform.dependencies, session.id)).toMatchObject({
      state: 'DEPOSITING',
    });
    faults = () => null;
    await reaches(platform, session.id, 'SETTLED');
  });

  it('waits no longer for what may never land, and gives it back when it does', async () => {
    const before = await network.balanceOf(receipt.tokenAddress, holder.address);
    const { session, act, pending } = await sentLongAgo();
    await lookNow(session.id);
    await reaches(platform, session.id, 'CLOSED');
    expect(pending.state).toBe('SUBMITTED');
    faults = () => null;
    const refunded = await reaches(platform, session.id, 'REFUNDED');
    expect(refunded).toMatchObject({ resolution: 'REFUND', depositTxHash: expect.any(String) as string });
    expect(await stateOf(act.id)).toBe('LANDED');
    expect(await network.balanceOf(receipt.tokenAddress, holder.address)).toBe(before);
  });

  it('is unknown for good: an operator decides, and custody never deposits in its place', async () => {
    faults = (method) => (method === 'outcome' ? 'history-gone' : null);
    const { session, act } = await prepareToDeposit();
    await submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    expect(await stateOf(act.id)).toBe('NEEDS_REVIEW');
    faults = () => null;
    const decision = {
      offRampSessionId: session.id,
      decision: 'RETRY',
      reason: 'the history is back',
    } as const;
    await decideSession(platform.dependencies, 'operator', decision);
    await reaches(platform, session.id, 'AWAITING_PAYOUT');
    const insert = (kind: string) => world.database.handle
      .sql`INSERT INTO submissions (id, kind, target_type, target_id, call, state, due_at, created_at)
      VALUES (${randomUUID()}, ${kind}, 'OFF_RAMP_SESSION', ${session.id}, '{}', 'REFUSED', now(), now())`;
    for (const kind of ['setAllowance', 'depositOffRamp'])
      await expect(insert(kind)).rejects.toThrow('is not to be signed by CUSTODY');
  });
});

it('can be refunded by an operator once its deposit was seen, though its submission was never decided', async () => {
  faults = (method) => (method === 'outcome' ? 'history-gone' : null);
  const { session, act } = await prepareToDeposit();
  await submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
  await reaches(platform, session.id, 'NEEDS_REVIEW');
  await sendPastUs(world, holder, act);
  await lookNow(session.id);
  await reaches(platform, session.id, 'AWAITING_PAYOUT');
  await providerSays(platform, session.providerSessionId ?? '', 'refunded');
  await reaches(platform, session.id, 'NEEDS_REVIEW');
  expect(await stateOf(act.id)).toBe('NEEDS_REVIEW');
  faults = () => null;
  await decideReviewOf(platform, session.id, 'REFUND');
  await reaches(platform, session.id, 'REFUNDED');
});

it('is not asked for again when its receipt was pledged, though it was paid', async () => {
  const own = await activeReceipt(platform, { farmerAddress: holder.address });
  const { session } = await prepareDeposit(world, holder, depositInputOf(own, holder));
  await providerSays(platform, session.providerSessionId ?? '', 'failed');
  await reaches(platform, session.id, 'CLOSED');
  await pledgeReceipt(platform.dependencies, farmer, pledgeInput(own));
  await providerSays(platform, session.providerSessionId ?? '', 'settled');
  await reaches(platform, session.id, 'NEEDS_REVIEW');
  const decide = (decision: 'RETRY' | 'ACCEPT') => decideReviewOf(platform, session.id, decision);
  await expect(decide('RETRY')).rejects.toMatchObject({ code: 'RECEIPT_PLEDGED' });
  expect(await decide('ACCEPT')).toMatchObject({ state: 'CLOSED' });
});

describe('a session that waits for a signature', () => {
  it('that an operator gives new time is not closed by an instance that knows of the old time alone', async () => {
    const { session, act } = await prepareToDeposit();
    await letSigningTimePass(world);
    const { dependencies } = platform;
    // By its clock nothing that was given out can land any more.
    const status = async () => ({ ...(await dependencies.network.status()), closedAt: 2n ** 40n });
    await pausedLook(
      session.id,
      async () => {
        await providerSays(platform, session.providerSessionId ?? '', 'settled');
        await reaches(platform, session.id, 'NEEDS_REVIEW');
        await decideReviewOf(platform, session.id, 'RETRY');
      },
      { ...dependencies.network, status },
    );
    expect(await submitSigned(dependencies, act, await holder.sign(act.unsigned))).toMatchObject({
      state: 'LANDED',
    });
    await reaches(platform, session.id, 'SETTLED');
  });

  it('contradicts nothing while another deposit under its reference waits to be given back', async () => {
    const { session } = await prepareToDeposit();
    faults = (method) => (method === 'broadcast' ? 'unreachable' : null);
    await useReference(world, holder, receipt, session);
    await reaches(platform, session.id, 'REFUNDING');
    expect(await reconcileAll({ ...platform.dependencies, isStill: true })).toMatchObject({ findings: [] });
    faults = () => null;
    expect(await reaches(platform, session.id, 'REFUNDED')).toMatchObject({ resolution: 'REFUND' });
  });

  it('is closed when another depositor uses its reference, who gets back tokens of the receipt', async () => {
    const { session } = await prepareToDeposit();
    const stranger = await useReference(world, holder, receipt, session);
    await reaches(platform, session.id, 'REFUNDED');
    expect(await network.balanceOf(receipt.tokenAddress, stranger)).toBe(toBaseUnits(7n));
    // The provider has paid after all: an operator resolves that with it, and accepts the network's state.
    await providerSays(platform, session.providerSessionId ?? '', 'settled');
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    expect(await decideReviewOf(platform, session.id, 'ACCEPT')).toMatchObject({ state: 'REFUNDED' });
  });

  it('goes to an operator when its provider has forgotten it, and its deposit is seen all the same', async () => {
    const { session, act } = await prepareToDeposit();
    const { ramp } = platform.dependencies;
    const forgotten = async () => {
      throw new DomainError('RAMP_REFUSED', 'The ramp provider refused: NOT_FOUND.');
    };
    platform.dependencies.ramp = { ...ramp, getStatus: forgotten, closeSession: forgotten };
    await changePastRules(
      world.database,
      sql`UPDATE off_ramp_sessions SET created_at = created_at - interval '10 minutes' WHERE id = ${session.id}`,
    );
    await lookNow(session.id);
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    await sendPastUs(world, holder, act);
    await lookNow(session.id);
    const isDeposited = async () =>
      (await findOffRampSession(platform.dependencies, session.id))?.depositedAt != null;
    await expect.poll(isDeposited, EVENTUALLY).toBe(true);
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    platform.dependencies.ramp = ramp;
    await decideReviewOf(platform, session.id, 'REFUND');
    expect(await reaches(platform, session.id, 'REFUNDED')).toMatchObject({ resolution: 'REFUND' });
  });

  it('is not closed while what was given out can still land by the network’s clock', async () => {
    const { session, act } = await prepareToDeposit();
    await letSigningTimePass(world);
    await lookNow(session.id);
    await expect.poll(() => looksAt(session.id), EVENTUALLY).toBeGreaterThan(0);
    expect(await findOffRampSession(platform.dependencies, session.id)).toMatchObject({
      state: 'AWAITING_SIGNATURE',
    });
    await sendPastUs(world, holder, act);
    await reaches(platform, session.id, 'AWAITING_PAYOUT');
  });

  it('that is paid, deposited late and not failed goes to an operator', async () => {
    const { session, act } = await prepareToDeposit();
    const sessionId = session.providerSessionId ?? '';
    await providerSays(platform, sessionId, 'failed');
    await reaches(platform, session.id, 'CLOSED');
    await providerSays(platform, sessionId, 'settled');
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    const accept = { offRampSessionId: session.id, decision: 'ACCEPT', reason: 'their mistake' } as const;
    await decideSession(platform.dependencies, 'operator', accept);
    await sendPastUs(world, holder, act);
    await lookNow(session.id);
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    const reviews = await readReviews(platform.dependencies, session.id);
    expect(reviews.at(-1)?.flaggedBecause).toContain('deposited after it was closed');
    const confirm = {
      offRampSessionId: session.id,
      decision: 'CONFIRM',
      reason: 'it is here after all',
    } as const;
    await decideSession(platform.dependencies, 'operator', confirm);
    await reaches(platform, session.id, 'SETTLED');
  });

  it('stays with its own settlement contract while the server is pointed at another one', async () => {
    const unsigned = await prepareToDeposit();
    const { session, act } = await prepareToDeposit();
    const before = await prepareToDeposit();
    const signedBefore = await holder.sign(before.act.unsigned);
    const submitted = await submitSigned(platform.dependencies, before.act, signedBefore);
    const own = platform.dependencies.network;
    const elsewhere = { address: network.factoryAddress, treasury: network.custodyAddress, paused: false };
    platform.dependencies.network = { ...own, settlementContract: async () => elsewhere };
    try {
      const signed = await holder.sign(act.unsigned);
      await expect(submitSigned(platform.dependencies, act, signed)).rejects.toMatchObject({
        code: 'CONFLICT',
      });
      // What was submitted before has its answer.
      const again = await submitSigned(platform.dependencies, submitted, signedBefore);
      expect(again).toMatchObject({ id: submitted.id, state: 'LANDED' });
      // The wallet may send it itself.
      await sendPastUs(world, holder, act);
      await lookNow(session.id);
      await reaches(platform, session.id, 'AWAITING_PAYOUT');
      await providerSays(platform, unsigned.session.providerSessionId ?? '', 'failed');
      await reaches(platform, unsigned.session.id, 'CLOSED');
    } finally {
      platform.dependencies.network = own;
    }
    for (const { id, providerSessionId } of [session, before.session]) {
      await providerSays(platform, providerSessionId ?? '', 'failed');
      await reaches(platform, id, 'REFUNDED');
    }
  });

  it('is not given out to be signed for a session that was closed while it was prepared', async () => {
    const { dependencies } = platform;
    const { network: own, db } = dependencies;
    const slow: typeof own = {
      ...own,
      async prepareForHolder(call, address) {
        const unsigned = await own.prepareForHolder(call, address);
        const providerSessionId = call.kind === 'depositOffRamp' ? call.sessionId : '';
        await providerSays(platform, providerSessionId, 'failed');
        const [session] = await db
          .select()
          .from(offRampSessions)
          .where(eq(offRampSessions.providerSessionId, providerSessionId));
        await reaches(platform, session?.id ?? '', 'CLOSED');
        return unsigned;
      },
    };
    const asked = prepareCashOutDeposit(
      { ...dependencies, network: slow },
      farmer,
      depositInputOf(receipt, holder),
    );
    await expect(asked).rejects.toMatchObject({ code: 'CONFLICT', details: { state: 'CLOSED' } });
  });

  it('is the one that was submitted while another one was prepared', async () => {
    const { dependencies } = platform;
    const own = dependencies.network;
    const input = depositInputOf(receipt, holder);
    const { session, act } = await prepareDeposit(world, holder, input);
    await changePastRules(
      world.database,
      sql`UPDATE ${holderActs} SET created_at = created_at - interval '2 minutes' WHERE id = ${act.id}`,
    );
    faults = (method) => (method === 'broadcast' ? 'unreachable' : null);
    const slow: typeof own = {
      ...own,
      async prepareForHolder(call, address) {
        const unsigned = await own.prepareForHolder(call, address);
        await submitSigned(impatient(), act, await holder.sign(act.unsigned));
        return unsigned;
      },
    };
    const again = await prepareCashOutDeposit({ ...dependencies, network: slow }, farmer, input);
    expect(again.act).toMatchObject({ id: act.id, state: 'SUBMITTED' });
    faults = () => null;
    await reaches(platform, session.id, 'AWAITING_PAYOUT');
  });

  it('is one of twenty of its holder at most', async () => {
    const collector = createEmbeddedHolder();
    const own = await activeReceipt(platform, { farmerAddress: collector.address });
    const ask = () =>
      prepareCashOutDeposit(
        platform.dependencies,
        farmer,
        depositInputOf(own, collector, { tokenAmount: 1n }),
      );
    for (let i = 0; i < 20; i++) await ask();
    await expect(ask()).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { field: 'input.holderAddress' },
    });
  });

  it('is not refused for those that another farmer has asked for at the same address', async () => {
    const collector = createEmbeddedHolder();
    const at = { farmerAddress: collector.address };
    const own = await activeReceipt(platform, at);
    const foreign = await activeReceipt(platform, { ...at, farmerId: 'farmer-2' });
    const ask = (by: typeof farmer, of: TokenizedReceipt) =>
      prepareCashOutDeposit(platform.dependencies, by, depositInputOf(of, collector, { tokenAmount: 1n }));
    const other = { subject: 'farmer-2', isOperator: false };
    for (let i = 0; i < 20; i++) await ask(other, foreign);
    await expect(ask(other, foreign)).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(ask(farmer, own)).resolves.toMatchObject({ act: { state: 'PREPARED' } });
  });

  it('is one of twenty also of those that are asked for at once, of other receipts', async () => {
    const collector = createEmbeddedHolder();
    const receipts: TokenizedReceipt[] = [];
    for (let i = 0; i < 4; i++)
      receipts.push(await activeReceipt(platform, { farmerAddress: collector.address }));
    const { dependencies } = platform;
    const { db } = dependencies;
    const ask = (of: TokenizedReceipt, deps = dependencies) =>
      prepareCashOutDeposit(deps, farmer, depositInputOf(of, collector, { tokenAmount: 1n }));
    for (let i = 0; i < 19; i++) await ask(receipts[0] ?? receipt);
    let uncommitted = 0;
    /** Waits until all transactions have counted, or one waits for another. */
    const together = vi.waitUntil(
      async () => uncommitted === 4 || (await hasLockWait(world.database.handle)),
    );
    const slow: typeof db = Object.assign(Object.create(db), {
      transaction: async <T>(work: (tx: Tx) => Promise<T>) =>
        db.transaction(async (tx) => {
          const done = await work(tx);
          uncommitted++;
          await together;
          return done;
        }),
    });
    const atOnce = await Promise.allSettled(receipts.map((of) => ask(of, { ...dependencies, db: slow })));
    expect(atOnce.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('takes no kilograms that another one has taken during its checks', async () => {
    const owner = createEmbeddedHolder();
    const own = await activeReceipt(platform, { farmerAddress: owner.address, quantityKg: 1000n });
    const { dependencies } = platform;
    const ask = (ramp = dependencies.ramp) =>
      prepareCashOutDeposit(
        { ...dependencies, ramp },
        farmer,
        depositInputOf(own, owner, { tokenAmount: 600n }),
      );
    const quote: typeof dependencies.ramp.quote = async (request) => {
      await ask();
      return dependencies.ramp.quote(request);
    };
    await expect(ask({ ...dependencies.ramp, quote })).rejects.toMatchObject({
      code: 'INSUFFICIENT_BALANCE',
      details: { requested: '600', available: '400' },
    });
  });

  it('is looked at for a late deposit at ever longer intervals, for a year', () => {
    const day = 24 * 3600_000;
    expect(lateDepositPollMs(0)).toBe(60_000);
    expect(lateDepositPollMs(day)).toBe(day / 10);
    expect(lateDepositPollMs(100 * day)).toBe(7 * day);
    expect(lateDepositPollMs(366 * day)).toBeNull();
  });
});

describe('the database', () => {
  it('lets nothing be changed that was given out to be signed, nor who deposits', async () => {
    const { session, act } = await prepareToDeposit();
    const { sql: raw } = world.database.handle;
    const rejected = (query: Promise<unknown>, message: string) => expect(query).rejects.toThrow(message);
    await rejected(raw`UPDATE holder_acts SET payload = 'x' WHERE id = ${act.id}`, 'fixed');
    await rejected(raw`DELETE FROM holder_acts WHERE id = ${act.id}`, 'append-only');
    await rejected(
      raw`UPDATE off_ramp_sessions SET depositor = 'CUSTODY', signature_due_at = NULL WHERE id = ${session.id}`,
      'depositor of off_ramp_sessions',
    );
    await rejected(
      raw`UPDATE off_ramp_sessions SET signature_due_at = NULL WHERE id = ${session.id}`,
      'off_ramp_holder_has_time',
    );
    await submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
    const [submission] = await platform.dependencies.db
      .select()
      .from(submissions)
      .where(eq(submissions.targetId, session.id));
    expect(submission).toMatchObject({ signer: 'HOLDER' });
    await rejected(raw`UPDATE holder_acts SET submission_id = NULL WHERE id = ${act.id}`, 'set once');
  });
});
