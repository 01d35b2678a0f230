/**
 * The kilograms of a receipt are paid out once. Custody is the treasury by default, so paid kilograms return
 * to custody, among the tokens that it deposits for farmers.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockById } from '../../../src/db/findByIds.ts';
import { receipts } from '../../../src/db/tables/index.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { pledgeReceipt } from '../../../src/resolvers/warehouse/pledgeReceipt.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { DomainError, innermostMessage } from '../../../src/lib/errors.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { countLockWaits, hasLockWait } from '../../support/database/lockWaits.ts';
import { embeddedNetworkOn, startPlatform, type StartedPlatform } from '../../support/platform.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { depositInputOf, prepareDeposit } from '../../support/wallets/walletCashOuts.ts';
import { signAndSubmit } from '../../support/wallets/walletWorld.ts';
import {
  activeReceipt,
  cashOutInput,
  decideSession,
  depositedCashOut,
  farmer,
  pledgeInput,
  providerSays,
  reaches,
} from '../../support/warehouse.ts';

let database: TestDatabase;
let platform: Platform;
let end: StartedPlatform['end'];
beforeAll(async () => {
  ({ database, platform, end } = await startPlatform());
});
afterAll(() => end());

type Receipt = Awaited<ReturnType<typeof activeReceipt>>;

async function ended(receipt: Receipt, tokenAmount: bigint, status: 'settled' | 'failed'): Promise<void> {
  const session = await depositedCashOut(platform, receipt, { tokenAmount });
  await providerSays(platform, session.providerSessionId, status);
  await reaches(platform, session.id, status === 'settled' ? 'SETTLED' : 'REFUNDED');
}

it('are not paid out again, although custody holds them', async () => {
  const { network } = platform.dependencies;
  const receipt = await activeReceipt(platform, { quantityKg: 1000n });
  await ended(receipt, 700n, 'settled');
  expect(await network.balanceOf(receipt.tokenAddress, network.custodyAddress)).toBe(toBaseUnits(1000n));
  const again = cashOut(platform.dependencies, farmer, cashOutInput(receipt, { tokenAmount: 301n }));
  await expect(again).rejects.toMatchObject({
    code: 'INSUFFICIENT_BALANCE',
    message: expect.stringMatching(/of the 1000 kg of the receipt 700 kg were paid out/) as string,
    details: { field: 'input.tokenAmount', requested: '301', available: '300' },
  });
  await ended(receipt, 300n, 'settled');
  const more = cashOut(platform.dependencies, farmer, cashOutInput(receipt, { tokenAmount: 1n }));
  await expect(more).rejects.toMatchObject({ code: 'INSUFFICIENT_BALANCE', details: { available: '0' } });
});

it('are not promised to a cash-out that another one has overtaken during its checks', async () => {
  const { dependencies } = platform;
  const { ramp } = dependencies;
  const receipt = await activeReceipt(platform, { quantityKg: 1000n });
  await ended(receipt, 600n, 'settled');
  const quote: typeof ramp.quote = async (request) => {
    await depositedCashOut(platform, receipt, { tokenAmount: 300n });
    return ramp.quote(request);
  };
  const overtaken = cashOut(
    { ...dependencies, ramp: { ...ramp, quote } },
    farmer,
    cashOutInput(receipt, { tokenAmount: 300n }),
  );
  await expect(overtaken).rejects.toMatchObject({
    code: 'INSUFFICIENT_BALANCE',
    details: { available: '100' },
  });
});

it('are promised to one of two cash-outs that reach the receipt at once, and the other one says so', async () => {
  const { dependencies } = platform;
  const receipt = await activeReceipt(platform, { quantityKg: 100n });
  const send = () => cashOut(dependencies, farmer, cashOutInput(receipt, { tokenAmount: 60n }));
  const both = await database.handle.db.transaction(async (tx) => {
    await lockById(tx, receipts, receipt.id);
    const sent = Promise.allSettled([send(), send()]);
    await expect.poll(() => countLockWaits(database.handle)).toBe(2);
    return { sent };
  });
  const outcomes = (await both.sent).map((result) =>
    result.status === 'rejected' ? (result.reason as { code?: string }).code : result.value.state,
  );
  expect(new Set(outcomes)).toEqual(new Set(['AWAITING_PAYOUT', 'INSUFFICIENT_BALANCE']));
});

const holder = createEmbeddedHolder();

/** Moves the receipt's tokens from custody, which has been paid for them or not, to the holder. */
async function moveToHolder({ tokenAddress }: Receipt, kilograms: bigint): Promise<void> {
  const network = await embeddedNetworkOn(database.handle);
  await network.transfer(tokenAddress, holder.address, toBaseUnits(kilograms));
}

/** The holder's cash-out of the receipt's tokens in their wallet. */
async function settledForHolder(receipt: Receipt, tokenAmount: bigint): Promise<void> {
  const world = { platform, network: platform.dependencies.network };
  const input = depositInputOf(receipt, holder, { tokenAmount, idempotencyKey: randomUUID() });
  const { session, act } = await prepareDeposit(world, holder, input);
  await signAndSubmit(world, holder, act);
  const { providerSessionId } = await reaches(platform, session.id, 'AWAITING_PAYOUT');
  await providerSays(platform, providerSessionId ?? '', 'settled');
  await reaches(platform, session.id, 'SETTLED');
}

it('are paid out again to a holder who has bought the tokens since', async () => {
  const receipt = await activeReceipt(platform, { quantityKg: 100n });
  await ended(receipt, 100n, 'settled');
  await moveToHolder(receipt, 100n);
  await expect(settledForHolder(receipt, 100n)).resolves.toBeUndefined();
});

it('are not paid out for custody after a holder’s later cash-out, whose tokens custody has since', async () => {
  const { dependencies } = platform;
  const { ramp } = dependencies;
  const receipt = await activeReceipt(platform, { quantityKg: 100n });
  let fail = () => {};
  const failure = new Promise<never>((_, reject) => {
    fail = () => reject(new DomainError('RAMP_UNAVAILABLE', 'a test says so'));
  });
  const asked: string[] = [];
  const openSession: typeof ramp.openSession = (request) =>
    asked.push(request.reference) === 1 ? failure : ramp.openSession(request);
  dependencies.ramp = { ...ramp, openSession };
  const impatient = { ...dependencies, mutationWaitMs: 0 };
  const { id } = await cashOut(impatient, farmer, cashOutInput(receipt, { tokenAmount: 100n }));
  await expect.poll(() => asked).toEqual([id]);
  await moveToHolder(receipt, 100n);
  await settledForHolder(receipt, 100n);
  dependencies.ramp = ramp;
  fail();
  const stopped = async () => (await findOffRampSession(dependencies, id))?.stateReason ?? '';
  await expect.poll(stopped).toContain('100 kg were paid out before');
});

it('that a holder is to deposit are not promised by custody, which deposits its own', async () => {
  const receipt = await activeReceipt(platform, { quantityKg: 100n });
  await moveToHolder(receipt, 60n);
  const world = { platform, network: platform.dependencies.network };
  const input = depositInputOf(receipt, holder, { tokenAmount: 60n, idempotencyKey: randomUUID() });
  await prepareDeposit(world, holder, input);
  await expect(ended(receipt, 40n, 'settled')).resolves.toBeUndefined();
});

it('are free again after a refund', async () => {
  const receipt = await activeReceipt(platform, { quantityKg: 200n });
  await ended(receipt, 200n, 'failed');
  await expect(ended(receipt, 200n, 'settled')).resolves.toBeUndefined();
});

it('are not free again when a refunded payout is paid after all, and that is accepted', async () => {
  const receipt = await activeReceipt(platform, { quantityKg: 200n });
  const { id, providerSessionId } = await depositedCashOut(platform, receipt, { tokenAmount: 200n });
  await providerSays(platform, providerSessionId, 'failed');
  await reaches(platform, id, 'REFUNDED');
  await providerSays(platform, providerSessionId, 'settled');
  await reaches(platform, id, 'NEEDS_REVIEW');
  const accept = { offRampSessionId: id, decision: 'ACCEPT', reason: 'the loss is taken' } as const;
  expect(await decideSession(platform.dependencies, 'operator', accept)).toMatchObject({ state: 'REFUNDED' });
  const again = cashOut(platform.dependencies, farmer, cashOutInput(receipt, { tokenAmount: 1n }));
  await expect(again).rejects.toMatchObject({ code: 'INSUFFICIENT_BALANCE', details: { available: '0' } });
  const pledged = pledgeReceipt(platform.dependencies, farmer, pledgeInput(receipt));
  await expect(pledged).rejects.toThrow(/all of it has been cashed out/);
});

describe('the database', () => {
  type Session = { state?: string; kilograms?: number; status?: string; depositor?: string };

  /** The SQL of a session of a receipt, with the other columns of another session. */
  const session = (
    receiptId: string,
    { state = 'OPENING', kilograms = 100, status, depositor = 'CUSTODY' }: Session = {},
  ) => {
    const isPaidIn = state === 'SETTLED' || state === 'REFUNDED';
    const time = '2026-01-01T00:00:00Z';
    const set = {
      id: randomUUID(),
      receipt_id: receiptId,
      state,
      state_reason: 'test',
      token_amount_kg: kilograms,
      depositor,
      signature_due_at: depositor === 'HOLDER' ? time : null,
      provider_session_id: isPaidIn ? randomUUID() : null,
      provider_status: status ?? null,
      deposited_at: isPaidIn ? time : null,
      released_at: isPaidIn ? time : null,
      ended_at: state === 'OPENING' ? null : time,
    };
    return `INSERT INTO off_ramp_sessions SELECT (jsonb_populate_record(s, '${JSON.stringify(set)}')).*
      FROM off_ramp_sessions s WHERE id = (SELECT min(id::text)::uuid FROM off_ramp_sessions)`;
  };
  const pledge = (receiptId: string) =>
    `INSERT INTO receipt_pledges (id, receipt_id, lender_name, loan_reference, pledged_by, pledged_at)
      VALUES (gen_random_uuid(), '${receiptId}', 'a bank', 'loan', 'farmer', now())`;

  /** @returns the refusal of the last statement, in a transaction that is undone */
  const answerTo = (last: string, past?: string) =>
    database.handle.db
      .transaction(async (tx) => {
        await tx.execute('SET LOCAL session_replication_role = replica');
        if (past !== undefined) await tx.execute(past);
        await tx.execute('SET LOCAL session_replication_role = origin');
        await tx.execute(last);
        throw new Error('taken');
      })
      .catch((error: Error) => innermostMessage(error));

  it.each(['SETTLED', 'REFUNDED', 'CLOSED'])(
    'lets a receipt be pledged after a session that is %s',
    async (state) => {
      const { id } = await activeReceipt(platform, { quantityKg: 100n });
      expect(await answerTo(pledge(id), session(id, { state }))).toBe('taken');
    },
  );

  it('lets custody cash out what is neither paid nor promised, and a holder what it has', async () => {
    const { id } = await activeReceipt(platform, { quantityKg: 100n });
    const more = { kilograms: 101 };
    expect(await answerTo(session(id, more))).toMatch(/has no 101 kg left for custody/);
    expect(await answerTo(session(id, { ...more, depositor: 'HOLDER' }))).toBe('taken');
    for (const state of ['REFUNDED', 'CLOSED']) {
      expect(await answerTo(session(id), session(id, { state }))).toBe('taken');
      const paid = session(id, { state, status: 'settled' });
      expect(await answerTo(session(id), paid)).toMatch(/has no 100 kg left for custody/);
    }
  });

  it.each([
    ['session', 'pledge', (id: string) => [pledge(id), session(id)], /is pledged/],
    ['pledge', 'session', (id: string) => [session(id), pledge(id)], /is being cashed out/],
  ])('makes a %s wait for a %s of another transaction', async (_second, _first, statements, refusal) => {
    const { id } = await activeReceipt(platform, { quantityKg: 100n });
    const [first = '', second = ''] = statements(id);
    let answer: Promise<string> | undefined;
    await database.handle.db.transaction(async (tx) => {
      await tx.execute(first);
      answer = answerTo(second);
      await expect.poll(() => hasLockWait(database.handle)).toBe(true);
    });
    expect(await answer).toMatch(refusal);
  });
});

it('are not promised twice, whichever program writes', async () => {
  const receipt = await activeReceipt(platform, { quantityKg: 100n });
  const { id } = await depositedCashOut(platform, receipt, { tokenAmount: 60n });
  const another = (kilograms: number, sessionId: string) =>
    database.handle.sql.unsafe(`
      INSERT INTO off_ramp_sessions SELECT (jsonb_populate_record(s, jsonb_build_object('id', '${sessionId}', 'state', 'OPENING',
        'token_amount_kg', ${kilograms}, 'provider_session_id', null, 'deposited_at', null, 'deposit_tx_hash', null, 'due_at', null))).*
      FROM off_ramp_sessions s WHERE id = '${id}'`);
  await expect(another(41, randomUUID())).rejects.toThrow(/has no 41 kg left for custody to cash out/);
  await another(40, randomUUID());
  await expect(another(1, randomUUID())).rejects.toThrow(/has no 1 kg left/);
});
