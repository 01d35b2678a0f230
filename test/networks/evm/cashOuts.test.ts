/**
 * Custody's cash-outs on a real EVM chain, where each deposit needs its own allowance: however many there
 * are, and whatever is decided while one is under way, each is deposited once or given back.
 */
import { and, eq } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findContradictions } from '../../../src/reconciliation/findContradictions.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { attempts, offRampDecision, submissions } from '../../../src/db/tables/index.ts';
import { giveUpSubmission } from '../../../src/ledger/submission/review.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { applyEvent, type EventDetails } from '../../../src/resolvers/warehouse/offRamp/applyEvent.ts';
import { lockOffRampSession } from '../../../src/resolvers/warehouse/offRamp/offRampMoves.ts';
import {
  findOffRampSession,
  type OffRampSession,
} from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { receivePayoutHint } from '../../../src/resolvers/warehouse/offRamp/receivePayoutHint.ts';
import type { OffRampEvent } from '../../../src/resolvers/warehouse/offRamp/transitions.ts';
import type { OffRampSessionReviewDecision } from '../../../src/resolvers/operations/resolveOffRampSessionReview.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { withFaults, type Fault, type FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { platformOn } from '../../support/platform.ts';
import { EVENTUALLY } from '../../support/wallets/walletWorld.ts';
import { activeReceipt, cashOutInput, decideSession, farmer, reaches } from '../../support/warehouse.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';

let world: EvmWorld;
let database: TestDatabase;
let platform: Platform;
let faults: FaultPlan = () => null;

beforeAll(async () => {
  world = await startEvmWorld();
  database = await createTestDatabase();
  const network = await connectLedger(world.ledger, database.handle);
  platform = await platformOn(
    database.handle,
    withFaults(network, (...call) => faults(...call)),
    { mutationWaitMs: 40_000 },
  );
  await platform.start();
});
afterEach(async () => {
  faults = () => null;
  await mining(true);
});
afterAll(async () => {
  const report = await reconcileAll(platform.dependencies);
  await platform.stop();
  await database.drop();
  await world.close();
  expect(report.findings).toEqual([]);
});

async function mining(isOn: boolean): Promise<void> {
  await world.node.rpc('evm_setAutomine', [isOn]);
  if (isOn) await world.node.rpc('evm_mine', []);
}

/** Begins a cash-out without waiting for it. */
const begin = (receipt: TokenizedReceipt, tokenAmount = 10n) =>
  cashOut({ ...platform.dependencies, mutationWaitMs: 0 }, farmer, cashOutInput(receipt, { tokenAmount }));

const submissionsOf = ({ id }: OffRampSession, kind: 'setAllowance' | 'depositOffRamp') =>
  database.handle.db
    .select()
    .from(submissions)
    .where(and(eq(submissions.targetId, id), eq(submissions.kind, kind)));

/** Waits until the call is signed and sent, while nothing is mined. */
async function isSent(session: OffRampSession, kind: 'setAllowance' | 'depositOffRamp'): Promise<void> {
  const known = async () => {
    const [signed] = await database.handle.db
      .select({ hash: attempts.hash })
      .from(attempts)
      .innerJoin(submissions, eq(submissions.id, attempts.submissionId))
      .where(and(eq(submissions.targetId, session.id), eq(submissions.kind, kind)));
    return signed ? world.node.rpc('eth_getTransactionByHash', [signed.hash]) : null;
  };
  await expect.poll(known, EVENTUALLY).not.toBeNull();
}

/** Begins a cash-out whose allowance has landed, and whose deposit is sent and waits for a block. */
async function withDepositUnderWay(receipt: TokenizedReceipt): Promise<OffRampSession> {
  await mining(false);
  const session = await begin(receipt);
  await isSent(session, 'setAllowance');
  await world.node.rpc('evm_mine', []);
  await isSent(session, 'depositOffRamp');
  return session;
}

const decide = (session: OffRampSession, decision: OffRampSessionReviewDecision) =>
  decideSession(platform.dependencies, 'operator', {
    offRampSessionId: session.id,
    decision,
    reason: 'a test',
  });

const happens = ({ id }: OffRampSession, event: OffRampEvent, details: EventDetails) =>
  database.handle.db.transaction(async (tx) =>
    applyEvent(tx, platform.dependencies, await lockOffRampSession(tx, id), event, details),
  );

const reread = async ({ id }: OffRampSession) => findOffRampSession(platform.dependencies, id);

/**
 * Begins two cash-outs of one receipt: the allowance of the first is sent, and the second waits for its turn.
 */
async function withOneWaiting(receipt: TokenizedReceipt) {
  await mining(false);
  const first = await begin(receipt);
  await isSent(first, 'setAllowance');
  const second = await begin(receipt);
  await expect.poll(async () => (await reread(second))?.state, EVENTUALLY).toBe('DEPOSITING');
  expect(await submissionsOf(second, 'setAllowance')).toEqual([]);
  return [first, second] as const;
}

describe('deposits of one receipt', () => {
  it('take turns, however many begin at once', async () => {
    const receipt = await activeReceipt(platform);
    const begun = await Promise.all(Array.from({ length: 8 }, (_, at) => begin(receipt, BigInt(at + 1))));
    for (const { id } of begun) await reaches(platform, id, 'AWAITING_PAYOUT');
    for (const session of begun) {
      expect(await submissionsOf(session, 'setAllowance')).toMatchObject([{ state: 'SUCCEEDED' }]);
      expect(await submissionsOf(session, 'depositOffRamp')).toMatchObject([{ state: 'SUCCEEDED' }]);
    }
    const { network } = platform.dependencies;
    expect(await network.balanceOf(receipt.tokenAddress, network.custodyAddress)).toBe(
      toBaseUnits(1000n - 36n),
    );
  });

  it('contradict nothing while the allowance is set, or they wait for their turn', async () => {
    const receipt = await activeReceipt(platform);
    const [first, second] = await withOneWaiting(receipt);
    expect(await findContradictions(database.handle.db)).toEqual([]);
    await mining(true);
    for (const { id } of [first, second]) await reaches(platform, id, 'AWAITING_PAYOUT');
  });

  it('don’t wait for those of other receipts', async () => {
    const [one, other] = [await activeReceipt(platform), await activeReceipt(platform)];
    await mining(false);
    const begun = [await begin(one), await begin(other)];
    for (const session of begun) await isSent(session, 'setAllowance');
    await mining(true);
    const ends = await Promise.all(begun.map(({ id }) => reaches(platform, id, 'AWAITING_PAYOUT')));
    expect(ends.map(({ receiptId }) => receiptId)).toEqual([one.id, other.id]);
  });

  it('go on after one that is refused', async () => {
    const receipt = await activeReceipt(platform);
    let fault: Fault = 'unreachable';
    faults = (method, _, drafted) =>
      method === 'draft' && drafted?.kind === 'setAllowance' && drafted.amount === toBaseUnits(1n)
        ? fault
        : null;
    const first = await begin(receipt, 1n);
    await expect.poll(() => submissionsOf(first, 'setAllowance'), EVENTUALLY).toHaveLength(1);
    const second = await begin(receipt, 2n);
    await expect.poll(async () => (await reread(second))?.state, EVENTUALLY).toBe('DEPOSITING');
    expect(await submissionsOf(second, 'setAllowance')).toEqual([]);
    fault = 'refused';
    await reaches(platform, first.id, 'CLOSED');
    await reaches(platform, second.id, 'AWAITING_PAYOUT');
  });

  it('find their turn also without a notification', async () => {
    const receipt = await activeReceipt(platform);
    const [first, second] = await withOneWaiting(receipt);
    expect((await reread(second))?.dueAt).not.toBeNull();
    await database.handle.db.transaction(async (tx) => {
      await lockOffRampSession(tx, second.id);
      await mining(true);
      await reaches(platform, first.id, 'AWAITING_PAYOUT');
    });
    expect(await submissionsOf(second, 'setAllowance')).toEqual([]);
    // Triggers now the look that is due later.
    await receivePayoutHint(platform.dependencies, (await reread(second))?.providerSessionId ?? '');
    await reaches(platform, second.id, 'AWAITING_PAYOUT');
  });
});

describe('what is decided while a deposit is under way', () => {
  it('waits for a deposit that follows from an allowance found by giving it up', async () => {
    const receipt = await activeReceipt(platform);
    faults = (method) => (method === 'outcome' ? 'history-gone' : null);
    const session = await begin(receipt);
    await reaches(platform, session.id, 'NEEDS_REVIEW');
    faults = () => null;
    await mining(false);
    const [allowance] = await submissionsOf(session, 'setAllowance');
    await giveUpSubmission(platform.dependencies.submission, allowance?.id ?? '');
    await expect(decide(session, 'ACCEPT')).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await reread(session)).toMatchObject({ state: 'DEPOSITING' });
    await mining(true);
    await reaches(platform, session.id, 'AWAITING_PAYOUT');
  });

  it('is not decided by an operator', async () => {
    const session = await withDepositUnderWay(await activeReceipt(platform));
    await happens(session, 'undecidable', { reason: 'for the test' });
    for (const decision of offRampDecision.enumValues) {
      await expect(decide(session, decision)).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('is under way') as string,
      });
    }
    await mining(true);
    await reaches(platform, session.id, 'AWAITING_PAYOUT');
  });

  it('is followed by a refund when it lands after the end', async () => {
    const receipt = await activeReceipt(platform);
    const session = await withDepositUnderWay(receipt);
    await happens(session, 'depositRefused', { values: { stateReason: 'for the test' } });
    await receivePayoutHint(platform.dependencies, (await reread(session))?.providerSessionId ?? '');
    await reaches(platform, session.id, 'CLOSED');
    await mining(true);
    expect(await reaches(platform, session.id, 'REFUNDED')).toMatchObject({
      depositTxHash: expect.stringMatching(/^0x/) as string,
    });
    const { network } = platform.dependencies;
    expect(await network.balanceOf(receipt.tokenAddress, network.custodyAddress)).toBe(toBaseUnits(1000n));
  });

  it('adds its transaction to what was found deposited before', async () => {
    const session = await withDepositUnderWay(await activeReceipt(platform));
    const depositedAt = new Date();
    await happens(session, 'deposited', { values: { depositedAt } });
    await mining(true);
    await expect
      .poll(async () => (await reread(session))?.depositTxHash, EVENTUALLY)
      .toEqual(expect.stringMatching(/^0x/));
    expect(await reread(session)).toMatchObject({ state: 'AWAITING_PAYOUT', depositedAt });
  });
});
