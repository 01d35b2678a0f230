/**
 * Frequent questions read only the rows that their answer needs, however long the tables have become.
 */
import { randomUUID } from 'node:crypto';
import { sql, type SQL } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Db, Tx } from '../../../src/db/connection.ts';
import { readProjectBalances } from '../../../src/ledger/books/readBalances.ts';
import { findRetirementOfSerial } from '../../../src/ledger/books/serialRanges.ts';
import { takeSlots } from '../../../src/ledger/submission/sequenceSlots.ts';
import { ZERO_HASH } from '../../../src/ledger/units.ts';
import type { Dependencies } from '../../../src/resolvers/core/dependencies.ts';
import { listAuditEntries } from '../../../src/resolvers/access/listAuditEntries.ts';
import { requireWithinCap } from '../../../src/resolvers/warehouse/issuanceCaps.ts';
import { listReceipts } from '../../../src/resolvers/warehouse/listReceipts.ts';
import { findLeavesOfTransfers } from '../../../src/transparency/inclusion.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';
import { rowsReadBy } from '../../support/database/rowsRead.ts';

const ROWS = 5_000;
const FEW = 50;
const ACCOUNT = 'custody';

let database: TestDatabase;
let projectId: string;
const retirementId = randomUUID();

beforeAll(async () => {
  database = await createTestDatabase();
  const { db } = database.handle;
  projectId = await insertProject(db, { quantityTonnes: 100n });
  const otherId = await insertProject(db, { quantityTonnes: 100n });
  await db.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    await tx.execute(sql`INSERT INTO accounts (project_id, kind, owner_id)
      SELECT p, k::account_kind, '' FROM unnest(ARRAY[${projectId}, ${otherId}]::uuid[]) p,
        unnest(ARRAY['issuance', 'inventory', 'retiring', 'retired']) k`);
    await tx.execute(sql`INSERT INTO accounts (project_id, kind, owner_id)
      SELECT ${projectId}, 'buyer', 'buyer-' || n FROM generate_series(1, ${ROWS}::int) n`);
    const settled = (project: string, rows: number, causeId: string | null) => sql`
      INSERT INTO transfers (id, project_id, kind, cause_id, debit_account_id, debit_version, debit_balance_tonnes, credit_account_id,
        credit_version, credit_balance_tonnes, amount_tonnes, created_at)
      SELECT gen_random_uuid(), d.project_id, 'retirement_settle', coalesce(${causeId}::uuid, gen_random_uuid()), d.id, n, 0, c.id, n, n, 1, now()
      FROM accounts d, accounts c, generate_series(1, ${rows}::int) n
      WHERE d.project_id = ${project} AND d.kind = 'retiring' AND c.project_id = ${project} AND c.kind = 'retired'`;
    await tx.execute(settled(otherId, ROWS, null));
    await tx.execute(settled(projectId, 1, retirementId));
    await tx.execute(
      sql`INSERT INTO signing_accounts (address, next_sequence) VALUES (${ACCOUNT}, ${ROWS + 1}::bigint)`,
    );
    await tx.execute(sql`
      INSERT INTO attempts (hash, submission_id, number, state, source, sequence, signed_bytes, prepared_at_ledger, created_at, ledger,
        decided_at, evidence)
      SELECT n, gen_random_uuid(), 1, 'LANDED', ${ACCOUNT}, n, '', 1, now(), 1, now(), '' FROM generate_series(1, ${ROWS}::int) n`);
    await tx.execute(sql`
      INSERT INTO receipts (id, state, warehouse_id, asset_millis, asset_id, commodity_type, quantity_kg, grade_classification,
        warehouse_location, harvest_season, inspection_report_hash, valuation_usd, country_code, token_name, token_symbol,
        farmer_address, confirmed_by, deposit_date, expiry_date, deploy_salt, token_address, created_at, activated_at, expired_at)
      SELECT gen_random_uuid(), 'EXPIRED', 'w', n, 'w-' || n, 'Maize', 1, 'A', '', '', ${ZERO_HASH}, 1, 'KE', '', 'WHR', 'farmer', 'op', 1, 2, '',
        'token-' || n, now() - n * interval '1 minute', now(), now() FROM generate_series(1, ${ROWS}::int) n`);
    await tx.execute(sql`INSERT INTO receipt_pledges (id, receipt_id, lender_name, lender_id, loan_reference, pledged_by, pledged_at)
      SELECT gen_random_uuid(), id, 'Bank', 'lender', 'L', 'farmer', now() FROM receipts WHERE asset_millis = ${ROWS}`);
    await tx.execute(sql`SELECT insert_audit_entries(gen_random_uuid(), 'test', (SELECT json_agg(json_build_object(
      'id', gen_random_uuid(), 'kind', 'MUTATION', 'started_at', now() - n * interval '1 second', 'request_id', 'request-' || n,
      'caller_roles', ARRAY[]::text[], 'remote_address', '127.0.0.1', 'field', 'purchase', 'target_ids', ARRAY[]::text[]))
      FROM generate_series(1, ${ROWS}::int) n))`);
    await tx.execute(sql`INSERT INTO issuance_caps (id, warehouse_id, commodity_type, commodity_key, number, limit_kg, set_by, set_at)
      VALUES (gen_random_uuid(), 'w', 'Maize', 'maize', 1, 10, 'op', now())`);
  });
  await db.execute(sql`ANALYZE`);
});
afterAll(() => database.drop());

const readBy = (table: string, work: (tx: Tx & Db) => Promise<unknown>) =>
  rowsReadBy(database.handle, [table], async (tx) => {
    // The default of PostgreSQL; the tests' server plans without the values.
    await tx.execute(sql`SET LOCAL plan_cache_mode = auto`);
    await work(tx);
  });

it("finds the retirement of a serial number without other projects' settlements", async () => {
  const read = await readBy('transfers', async (tx) =>
    expect(await findRetirementOfSerial(tx, projectId, 1n)).toBe(retirementId),
  );
  expect(read).toBeLessThanOrEqual(FEW);
});

it("reads a project's balances without its buyers'", async () => {
  const read = await readBy('accounts', (tx) => readProjectBalances({ db: tx }, [projectId]));
  expect(read).toBeLessThanOrEqual(FEW);
});

it('takes the next sequence without all that its account has signed', async () => {
  const next = BigInt(ROWS) + 1n;
  const order = { accounts: [ACCOUNT], maxOpenPerAccount: 1 };
  const read = await readBy('attempts', async (tx) =>
    expect(await takeSlots(tx, order, ['a'], new Map([[ACCOUNT, next]]))).toEqual([
      { source: ACCOUNT, sequence: next },
    ]),
  );
  expect(read).toBeLessThanOrEqual(FEW);
});

it("lists a lender's receipts without all others, also of a farmer who lends", async () => {
  for (const farmerId of [null, 'farmer']) {
    const visibleTo = { farmerId, warehouseIds: [], lenderId: 'lender' };
    const read = await readBy('receipts', async (tx) => {
      const found = await listReceipts({ db: tx } as unknown as Dependencies, { visibleTo }).list({
        limit: 20,
        inverted: false,
      });
      expect(found).toHaveLength(1);
    });
    expect(read).toBeLessThanOrEqual(FEW);
  }
});

it('adds up what counts against a cap without what has expired', async () => {
  const deposit = { warehouseId: 'w', commodityType: 'Maize', quantityKg: 1n };
  const read = await readBy('receipts', (tx) => requireWithinCap(tx, deposit));
  expect(read).toBeLessThanOrEqual(FEW);
});

it('finds the audit entries of a request without all others, also of requests long ago', async () => {
  const requestIds = ['request-1', `request-${ROWS}`, 'none'];
  const read = await readBy('audit_entries', async (tx) => {
    const entries = listAuditEntries({ db: tx }, { requestIds });
    const found = await entries.list({ limit: 20, inverted: false });
    expect(found.map(({ requestId }) => requestId)).toEqual(['request-1', `request-${ROWS}`]);
    expect(await entries.count()).toBe(2);
  });
  expect(read).toBeLessThanOrEqual(FEW);
});

it('finds where a transfer is in its log without all tiles, and with all where it was logged in another copy', async () => {
  const [restored, next] = [randomUUID(), randomUUID()];
  const transfers = (values: SQL) => sql`
    INSERT INTO transfers (id, project_id, kind, cause_id, debit_account_id, debit_version, debit_balance_tonnes, credit_account_id,
      credit_version, credit_balance_tonnes, amount_tonnes, created_at, written_in)
    SELECT id, ${projectId}, 'purchase', id, -1, written_in, 0, -2, written_in, 1, 1, now(), written_in FROM (${values}) AS v (id, written_in)`;
  const { db } = database.handle;
  await db.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    // Only the first transfer of each tile.
    await tx.execute(transfers(sql`SELECT gen_random_uuid(), -n FROM generate_series(1, ${ROWS}::int) n`));
    await tx.execute(sql`INSERT INTO transparency_tiles (log, level, index, hashes, row_ids)
      SELECT 'transfers', 0, written_in + ${ROWS}, sha256(''), ARRAY[id] FROM transfers WHERE kind = 'purchase'`);
    await tx.execute(sql`INSERT INTO transparency_heads (log, size, root, checkpoint, updated_at, written_in, row_id)
      SELECT 'transfers', ${ROWS} * 256, sha256(''), '', now(), written_in, id FROM transfers
      WHERE kind = 'purchase' AND written_in = -1`);
    await tx.execute(
      transfers(sql`SELECT ${restored}::uuid, 9999999999
      UNION ALL SELECT ${next}::uuid, pg_current_xact_id()::text::bigint`),
    );
    await tx.execute(sql`UPDATE transparency_tiles SET row_ids = row_ids || ${restored}::uuid, hashes = hashes || sha256('')
      WHERE index = 0`);
  });
  await db.execute(sql`ANALYZE`);
  const rows = await db.execute<{
    id: string;
    tile: number;
  }>(sql`SELECT id, written_in::int + ${ROWS}::int AS tile FROM transfers
    WHERE kind = 'purchase' AND written_in IN (-1, -77, -4096, ${-ROWS}) ORDER BY written_in`);
  const ids = [...rows.map((row) => row.id), next];
  const read = await readBy('transparency_tiles', async (tx) => {
    const found = await findLeavesOfTransfers(tx, ids);
    expect(ids.map((id) => found.get(id))).toEqual([...rows.map(({ tile }) => tile * 256), undefined]);
  });
  expect(read).toBeLessThanOrEqual(2 * FEW);
  expect((await findLeavesOfTransfers(db, [restored, next])).get(restored)).toBe(1);
});
