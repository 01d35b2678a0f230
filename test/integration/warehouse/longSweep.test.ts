/**
 * The rows that a sweep of many receipts reads while its tables are young: a few for each receipt, however
 * many were examined before.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { sweep, type SweepNeeds } from '../../../src/jobs/expireReceipts.ts';
import type { ExpiryAnswer } from '../../../src/ledger/network/port.ts';
import { createIdSource, systemClock } from '../../../src/lib/clock.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { addRun } from '../../support/database/expiryRun.ts';
import { insertDueReceipts } from '../../support/database/receipts.ts';
import { rowsReadBy } from '../../support/database/rowsRead.ts';

const DUE = 2_000;
/** Rows of all tables for each receipt: an index may lead to a row more than once. */
const FEW = 10;

let database: TestDatabase;
let handle: DatabaseHandle;

beforeAll(async () => {
  database = await createTestDatabase();
  // A single connection, which keeps its plans.
  handle = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' });
  await insertDueReceipts(handle.db, DUE);
});
afterAll(async () => {
  await handle.close();
  await database.drop();
});

function depsOf(
  db: SweepNeeds['db'],
  answer: Pick<Extract<ExpiryAnswer, { status: string }>, 'isExpired' | 'status'>,
): SweepNeeds {
  return {
    db,
    network: {
      status: async () => ({ closedAt: 2n }),
      expiryOf: async (addresses: readonly string[]) =>
        addresses.map((tokenAddress) => ({ tokenAddress, ...answer })),
    },
    clock: systemClock,
    ids: createIdSource(systemClock),
    stateSignal: { notify: () => undefined },
    log: { warn: () => undefined },
  } as unknown as SweepNeeds;
}

it.each([
  ['that are not due', { isExpired: false, status: 'ACTIVE' }],
  ['that are to be marked', { isExpired: true, status: 'ACTIVE' }],
  ['that are being marked', { isExpired: true, status: 'ACTIVE' }],
] as const)('receipts %s', async (_name, answer) => {
  const runId = await addRun(handle.db, '1 hour');
  const tables = ['expiry_items', 'receipts', 'submissions'];
  const read = await rowsReadBy(handle, tables, (tx) => sweep(depsOf(tx, answer), { id: runId }));
  expect(read / DUE).toBeLessThan(FEW);
});
