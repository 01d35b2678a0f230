/**
 * Which decisions an operator has about an off-ramp session under review, in every state of its deposit, its books
 * and its surroundings: each session has one that ends it. The decisions are real; what the settlement contract and
 * the provider show is passed in, and every decision is rolled back.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tx } from '../../../src/db/connection.ts';
import { offRampReviews, offRampSessions } from '../../../src/db/tables/index.ts';
import type { OffRampDeposit } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import type { RampStatus } from '../../../src/ramp/port.ts';
import { allowanceEffects, depositEffects } from '../../../src/resolvers/warehouse/offRamp/offRampEffects.ts';
import type { Effects, Intent } from '../../../src/ledger/submission/effects.ts';
import type { OffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { offRampSessionRow } from '../../support/offRampSessionRow.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { activeReceipt, decideSession } from '../../support/warehouse.ts';

const DECISIONS = ['RETRY', 'CONFIRM', 'REFUND', 'ACCEPT'] as const;
type Decision = (typeof DECISIONS)[number];

const AT = new Date();
/** What the books say of the session's tokens. */
const BOOKS = {
  'not opened': { providerSessionId: null },
  undeposited: {},
  deposited: { depositedAt: AT },
  'to be settled': { depositedAt: AT, resolution: 'SETTLE' },
  'to be refunded': { depositedAt: AT, resolution: 'REFUND' },
  settled: { depositedAt: AT, resolution: 'SETTLE', releasedAt: AT },
  refunded: { depositedAt: AT, resolution: 'REFUND', releasedAt: AT },
} satisfies Record<string, Partial<OffRampSession>>;
type Books = keyof typeof BOOKS;

/** What the session's settlement contract has under its id: nothing, the agreed deposit, or another party's. */
const DEPOSITS = [
  'none',
  'PENDING',
  'SETTLED',
  'REFUNDED',
  'other PENDING',
  'other SETTLED',
  'other REFUNDED',
];

let database: TestDatabase;
let platform: Platform;
let receipt: TokenizedReceipt;
let inUse: string;
const elsewhere = createEmbeddedHolder().address;

beforeAll(async () => {
  database = await createTestDatabase();
  const network = await embeddedNetworkOn(database.handle);
  inUse = (await network.settlementContract())?.address ?? '';
  const working = await platformOn(database.handle, network);
  await working.start();
  receipt = await activeReceipt(working);
  await working.stop();
  platform = await platformOn(database.handle, network);
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

async function underReview(values: Partial<OffRampSession>): Promise<OffRampSession> {
  const { network, ramp } = platform.dependencies;
  const id = randomUUID();
  const [session] = await database.handle.db
    .insert(offRampSessions)
    .values(
      offRampSessionRow({
        id,
        state: 'NEEDS_REVIEW',
        receiptId: receipt.id,
        tokenAddress: receipt.tokenAddress,
        depositorAddress: network.custodyAddress,
        settlementAddress: inUse,
        providerName: ramp.name,
        providerAskedAt: AT,
        providerSessionId: randomUUID(),
        signatureDueAt: values.depositor === 'HOLDER' ? AT : null,
        ...values,
      }),
    )
    .returning();
  if (!session) throw new Error('nothing was inserted');
  const review = { id: randomUUID(), offRampSessionId: id, flaggedBecause: 'a test', openedAt: AT } as const;
  await database.handle.db.insert(offRampReviews).values({ ...review, stateBefore: 'CLOSED' });
  return session;
}

function depositShown({ tokenAddress, depositorAddress, tokenAmountKg }: OffRampSession, shown: string) {
  const [status = '', other] = shown.split(' ').toReversed();
  if (status === 'none') return null;
  const depositor = other ? elsewhere : depositorAddress;
  const amount = toBaseUnits(tokenAmountKg) - (other ? 1n : 0n);
  return { depositor, tokenAddress, amount, status: status as OffRampDeposit['status'] };
}

/** Where each decision leads, or the refusal's message. Nothing of it stays. */
async function tryAll(session: OffRampSession, shown: string, { provider }: { provider?: RampStatus } = {}) {
  const results: Partial<Record<Decision, string>> = {};
  for (const decision of DECISIONS) {
    const { dependencies } = platform;
    let state = '';
    const rollingBack = async (work: (tx: Tx) => Promise<unknown>) => {
      let result: unknown;
      const rolledBack = new Error('rolled back');
      await dependencies.db
        .transaction(async (tx) => {
          result = await work(tx);
          const [after] = await tx.select().from(offRampSessions).where(eq(offRampSessions.id, session.id));
          state = after?.state ?? '';
          throw rolledBack;
        })
        .catch((error: unknown) => {
          if (error !== rolledBack) throw error;
        });
      return result;
    };
    const db = new Proxy(dependencies.db, {
      get: (target, name) => (name === 'transaction' ? rollingBack : (Reflect.get(target, name) as unknown)),
    });
    const deps = {
      ...dependencies,
      db,
      network: {
        ...dependencies.network,
        offRampDeposit: async (contract: string) =>
          contract === session.settlementAddress ? depositShown(session, shown) : null,
      },
      ramp: { ...dependencies.ramp, getStatus: async () => ({ status: provider ?? 'settled' }) },
    };
    const input = { offRampSessionId: session.id, decision, reason: 'looked at it' };
    results[decision] = await decideSession(deps, 'operator', input).then(
      () => state,
      (error: unknown) => {
        if (!(error instanceof DomainError)) throw error;
        return error.message;
      },
    );
  }
  return results;
}

/**
 * The decisions that end the session, without RETRY, which lets the session go on; or that another program has to
 * release the tokens first, when each refusal says so.
 */
async function endsOf(session: OffRampSession, shown: string): Promise<string> {
  const results = await tryAll(session, shown);
  expect(Object.values(results).join()).not.toContain('null');
  const ends = { CONFIRM: 'CONFIRMING', REFUND: 'REFUNDING' } as const;
  const to = Object.entries(results).flatMap(([decision, state]) => {
    if (decision === 'RETRY') return [];
    if (decision === 'ACCEPT') return /^[A-Z]+$/.test(state) ? [`ACCEPT to ${state}`] : [];
    return state === ends[decision as keyof typeof ends] ? [decision] : [];
  });
  const { RETRY: _, ...refusals } = results;
  const isOutside = Object.values(refusals).some((text) => text.includes("with custody's key, then ACCEPT"));
  return to.join(', ') || (isOutside ? OUTSIDE : `none: ${JSON.stringify(results)}`);
}

const toClosed = 'ACCEPT to CLOSED';
const toSettled = 'ACCEPT to SETTLED';
const toRefunded = 'ACCEPT to REFUNDED';
const both = 'CONFIRM, REFUND';
/** Where a transaction of the platform can't release the tokens. */
const OUTSIDE = 'ACCEPT after a release by custody';

/** In the order of DEPOSITS. A session that is to be settled has the agreed deposit, or lost it. */
const ENDS: Record<'CUSTODY' | 'HOLDER', Record<Books, string[]>> = {
  CUSTODY: {
    'not opened': [toClosed],
    undeposited: [toClosed, both, toSettled, toRefunded, toClosed, toClosed, toClosed],
    deposited: [toRefunded, both, toSettled, toRefunded, toRefunded, toRefunded, toRefunded],
    'to be settled': [toRefunded, 'CONFIRM', toSettled, toRefunded],
    'to be refunded': [toRefunded, 'REFUND', toSettled, toRefunded],
    settled: [toRefunded, OUTSIDE, toSettled, toRefunded],
    refunded: [toRefunded, OUTSIDE, toSettled, toRefunded],
  },
  HOLDER: {
    'not opened': [toClosed],
    undeposited: [toClosed, both, toSettled, toRefunded, `REFUND, ${toClosed}`, toClosed, toClosed],
    deposited: [toRefunded, both, toSettled, toRefunded, 'REFUND', toSettled, toRefunded],
    'to be settled': [toRefunded, 'CONFIRM', toSettled, toRefunded],
    'to be refunded': [toRefunded, 'REFUND', toSettled, toRefunded, 'REFUND', toSettled, toRefunded],
    settled: [toRefunded, OUTSIDE, toSettled, toRefunded],
    refunded: [toRefunded, OUTSIDE, toSettled, toRefunded, OUTSIDE, toSettled, toRefunded],
  },
};

describe.each(['CUSTODY', 'HOLDER'] as const)('a session under review that %s deposits', (depositor) => {
  it.each(Object.keys(BOOKS) as Books[])('and that is %s has a decision that ends it', async (books) => {
    const session = await underReview({ depositor, ...BOOKS[books] });
    const expected = ENDS[depositor][books];
    const found: string[] = [];
    for (const shown of DEPOSITS.slice(0, expected.length)) found.push(await endsOf(session, shown));
    expect(found).toEqual(expected);
  });

  it('has them also when another settlement contract is configured, except those that release', async () => {
    for (const books of Object.keys(BOOKS) as Books[]) {
      const session = await underReview({ depositor, ...BOOKS[books], settlementAddress: elsewhere });
      for (const [i, expected] of ENDS[depositor][books].entries()) {
        const accepted = expected.split(', ').filter((end) => end.startsWith('ACCEPT'));
        expect(await endsOf(session, DEPOSITS[i] ?? ''), `${books}, ${DEPOSITS[i]}`).toBe(
          accepted.length > 0 ? accepted.join(', ') : OUTSIDE,
        );
      }
    }
  });
});

describe('a decision', () => {
  const refusal = (message: string) => expect.stringContaining(message) as string;

  it('RETRY goes on as the provider and the deposit have it', async () => {
    const retried = async (values: Partial<OffRampSession>, shown: string) =>
      (await tryAll(await underReview(values), shown)).RETRY;
    const paid = { providerStatus: 'settled' } as const;
    const signed = { depositor: 'HOLDER' } as const;
    expect(await retried({}, 'PENDING')).toBe('AWAITING_PAYOUT');
    expect(await retried({ ...paid, settlementAddress: elsewhere }, 'PENDING')).toBe('AWAITING_PAYOUT');
    expect(await retried({ providerStatus: 'failed' }, 'none')).toBe('CLOSING');
    expect(await retried({ providerStatus: 'failed', settlementAddress: elsewhere }, 'none')).toBe('CLOSING');
    expect(await retried(paid, 'none')).toBe('DEPOSITING');
    expect(await retried({ ...paid, ...signed }, 'none')).toBe('AWAITING_SIGNATURE');
    expect(await retried(BOOKS.deposited, 'PENDING')).toBe('AWAITING_PAYOUT');
    expect(await retried(BOOKS['to be settled'], 'PENDING')).toBe('CONFIRMING');
    expect(await retried(BOOKS['to be refunded'], 'PENDING')).toBe('REFUNDING');
    expect(await retried(BOOKS.settled, 'SETTLED')).toEqual(refusal('Nothing is left to retry'));
    expect(await retried(BOOKS['not opened'], 'none')).toEqual(refusal('Nothing can be retried'));
    const bothNamed = refusal(`${elsewhere}, but RAMP_SETTLEMENT_ADDRESS names ${inUse}. Name the session's`);
    for (const values of [paid, { ...paid, ...signed }, BOOKS['to be settled'], BOOKS['to be refunded']])
      expect(await retried({ ...values, settlementAddress: elsewhere }, 'none')).toEqual(bothNamed);
  });

  it('ACCEPT of a deposit that the network lost waits until it can no longer land again', async () => {
    const session = await underReview(BOOKS.deposited);
    const { network } = platform.dependencies;
    const { continuity } = network;
    const again = refusal('may land again');
    network.continuity = async () => ({ status: 'rewritten', message: 'rolled back' });
    expect((await tryAll(session, 'none')).ACCEPT).toEqual(again);
    network.continuity = continuity;
    await changePastRules(database, sql`INSERT INTO signing_accounts VALUES ('custody', 1, 'rolled back')`);
    expect((await tryAll(session, 'none')).ACCEPT).toEqual(again);
    expect((await tryAll(session, 'SETTLED')).ACCEPT).toBe('SETTLED');
    await changePastRules(database, sql`UPDATE signing_accounts SET halted_because = NULL`);
    expect((await tryAll(session, 'none')).ACCEPT).toBe('REFUNDED');
  });
});

it('RETRY of a paid session waits for a pledge of its receipt that is being made', async () => {
  const session = await underReview({ providerStatus: 'settled' });
  let retried: ReturnType<typeof tryAll> | undefined;
  await database.handle.db.transaction(async (tx) => {
    // The other sessions of this file would refuse the pledge.
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    await tx.execute(sql`SELECT FROM receipts WHERE id = ${receipt.id} FOR UPDATE`);
    await tx.execute(sql`INSERT INTO receipt_pledges (id, receipt_id, lender_name, loan_reference, pledged_by, pledged_at)
      VALUES (${randomUUID()}, ${receipt.id}, 'a lender', 'a loan', 'operator', now())`);
    retried = tryAll(session, 'none');
    await expect.poll(() => hasLockWait(database.handle)).toBe(true);
  });
  expect((await retried)?.RETRY).toContain('pledged');
  await changePastRules(database, sql`DELETE FROM receipt_pledges`);
});

it('custody allows another settlement contract nothing for a session, nor deposits into it', async () => {
  const { db, network, submission, stateSignal } = platform.dependencies;
  const deps = { db, network, stateSignal, clock: submission.clock, ids: submission.ids };
  const reasons = async (settlementAddress: string) => {
    const { id } = await underReview({ settlementAddress });
    const intent = { targetId: id } as Intent;
    const reasonOf = async (effects: Effects) => effects.reasonForReview?.(intent);
    return Promise.all([allowanceEffects(deps), depositEffects(deps)].map(reasonOf));
  };
  expect(await reasons(inUse)).toEqual([null, null]);
  const mismatch = expect.stringContaining(elsewhere) as string;
  expect(await reasons(elsewhere)).toEqual([mismatch, mismatch]);
});
