/**
 * What the database says about an off-ramp session whose deposit is compared: the calls that may move it, and
 * the other sessions that it may belong to.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { submissions, type offRampSessions } from '../../../src/db/tables/index.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { reconcileDeposits } from '../../../src/reconciliation/reconcileDeposits.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertSessionAlone } from '../../support/offRampSessionRow.ts';

type Row = typeof offRampSessions.$inferInsert;

const AT = new Date();

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const inState = (state: NonNullable<Row['state']>): Partial<Row> => ({
  state,
  providerAskedAt: AT,
  depositedAt: state === 'AWAITING_PAYOUT' ? AT : null,
  ...(state === 'CLOSED' ? { stateReason: 'refused', endedAt: AT } : {}),
});

/** Compares the sessions with a contract that has the deposit of the first one. */
async function compare(offRampSessionIds: readonly string[]): Promise<string[]> {
  const offRampDeposit = async () => ({
    depositor: 'custody',
    tokenAddress: 'token',
    amount: toBaseUnits(1n),
    status: 'PENDING',
  });
  const deps = { db: database.handle.db, network: { offRampDeposit }, offRampSessionIds };
  const { findings, notProved } = await reconcileDeposits(deps as never);
  return [...findings.map(() => 'found'), ...notProved.map(({ obstacle }) => obstacle)];
}

it.each<[Row['state'], string, Partial<Row> | null, string[]]>([
  ['CLOSED', 'without another session', null, ['found']],
  ['DEPOSITING', 'without another session', null, ['found']],
  ['CLOSED', 'beside one that has deposited', inState('AWAITING_PAYOUT'), []],
  ['CLOSED', 'beside one that deposits', inState('DEPOSITING'), []],
  ['CLOSED', 'beside one that may still deposit', inState('CLOSING'), []],
  ['CLOSED', 'beside one that is closed, too', inState('CLOSED'), ['found']],
  ['CLOSING', 'beside one that has deposited', inState('AWAITING_PAYOUT'), []],
  ['CLOSING', 'beside one that deposits', inState('DEPOSITING'), []],
  ['CLOSING', 'beside one that may still deposit', inState('CLOSING'), ['found']],
  ['CLOSING', 'beside one that is closed', inState('CLOSED'), ['found']],
  ...(['receiptId', 'settlementAddress', 'providerSessionId'] as const).map(
    (column): [Row['state'], string, Partial<Row>, string[]] => [
      'CLOSED',
      `beside one that has deposited, with another ${column}`,
      { ...inState('AWAITING_PAYOUT'), [column]: randomUUID() },
      ['found'],
    ],
  ),
])('a deposit as that of a session that is %s %s', async (state, _, other, expected) => {
  const shared = { receiptId: randomUUID(), providerSessionId: randomUUID() };
  const { db } = database.handle;
  const id = await insertSessionAlone(db, { ...inState(state), ...shared });
  if (other !== null) await insertSessionAlone(db, { ...shared, providerName: 'other', ...other });
  expect(await compare([id])).toEqual(expected);
});

it.each<[what: string, call: Partial<typeof submissions.$inferInsert>, expected: string]>([
  ['is PENDING', {}, 'UNDER_WAY'],
  ['needs review', { state: 'NEEDS_REVIEW', reviewCause: 'UNDETERMINABLE' }, 'UNDER_WAY'],
  ['was refused', { state: 'REFUSED', refusalReason: 'OTHER', settledAt: AT }, 'found'],
  ['is of another session', { targetId: randomUUID() }, 'found'],
])('a deposit whose call %s', async (_, call, expected) => {
  const { db } = database.handle;
  const targetId = await insertSessionAlone(db, {
    ...inState('DEPOSITING'),
    providerSessionId: randomUUID(),
  });
  await db.insert(submissions).values({
    id: randomUUID(),
    kind: 'depositOffRamp',
    targetType: 'OFF_RAMP_SESSION',
    targetId,
    call: {},
    signer: 'CUSTODY',
    state: 'PENDING',
    dueAt: AT,
    createdAt: AT,
    ...call,
  });
  expect(await compare([targetId])).toEqual([expected]);
});

it('a session without an id of its provider has none', async () => {
  const id = await insertSessionAlone(database.handle.db, { state: 'OPENING' });
  expect(await compare([id])).toEqual([]);
});
