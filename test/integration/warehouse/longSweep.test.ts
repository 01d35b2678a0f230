/**
 * What a sweep of many receipts reads while its tables are young: a few rows for each receipt, however many were examined before it.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { sweep, type SweepNeeds } from '../../../src/jobs/expireReceipts.ts';
import type { ExpiryAnswer } from '../../../src/ledger/network/port.ts';
import { createIdSource, systemClock } from '../../../src/lib/clock.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

const DUE = 2_000;
/** Of each table, for each receipt: an index may lead to a row more than once. */
const FEW = 10;

let database: TestDatabase;
let handle: DatabaseHandle;

beforeAll(async () => {
  database = await createTestDatabase();
  // One connection, which keeps its plans.
  handle = openDatabase({ url: database.url, poolSize: 1, applicationName: 'test' });
  await handle.sql`INSERT INTO receipts (id, state, warehouse_id, asset_millis, asset_id, commodity_type, quantity_kg,
      grade_classification, warehouse_location, harvest_season, inspection_report_hash, valuation_usd, country_code, token_name,
      token_symbol, farmer_address, confirmed_by, deposit_date, expiry_date, deploy_salt, token_address, created_at, activated_at)
    SELECT gen_random_uuid(), 'ACTIVE', 'WH', n, 'WH-' || n, 'Maize', 1, '', '', '', '', 0, 'KE', '', '', 'farmer', 'warehouse', 0, n,
      'salt ' || n, 'token ' || n, now(), now() FROM generate_series(1, ${DUE}::int) n`;
});
afterAll(async () => {
  await handle.close();
  await database.drop();
});

function depsOf(answer: Pick<Extract<ExpiryAnswer, { status: string }>, 'isExpired' | 'status'>): SweepNeeds {
  return {
    db: handle.db,
    network: {
      status: async () => ({ closedAt: BigInt(DUE) + 1n }),
      expiryOf: async (addresses: readonly string[]) =>
        addresses.map((tokenAddress) => ({ tokenAddress, ...answer })),
    },
    clock: systemClock,
    ids: createIdSource(systemClock),
    stateSignal: { notify: () => undefined },
    log: { warn: () => undefined },
  } as unknown as SweepNeeds;
}

async function readRows(): Promise<Record<string, number>> {
  await handle.sql`SELECT pg_stat_force_next_flush()`;
  const rows = await handle.sql<{ table: string; rows: number }[]>`
    SELECT relname AS table, (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS rows FROM pg_stat_user_tables
    WHERE relname IN ('expiry_items', 'receipts', 'submissions')`;
  return Object.fromEntries(rows.map(({ table, rows: count }) => [table, count]));
}

it.each([
  ['that are not due', { isExpired: false, status: 'ACTIVE' }],
  ['that are to be marked', { isExpired: true, status: 'ACTIVE' }],
  ['that are being marked', { isExpired: true, status: 'ACTIVE' }],
] as const)('receipts %s', async (_name, answer) => {
  const runId = createIdSource(systemClock).next();
  await handle.db.execute(sql`INSERT INTO expiry_runs (id, trigger, requested_by, started_at, due_at)
    VALUES (${runId}, 'MANUAL', 'test', now(), now() + interval '1 hour')`);
  const before = await readRows();
  await sweep(depsOf(answer), { id: runId });
  const after = await readRows();
  const perReceipt = Object.fromEntries(
    Object.entries(after).map(([table, rows]) => [table, (rows - (before[table] ?? 0)) / DUE]),
  );
  for (const rows of Object.values(perReceipt)) expect(rows).toBeLessThan(FEW);
});
