/**
 * The administrator of a database, or of its role, may have set for other programs how values are written and how transactions are
 * isolated.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { memoryFolder } from '../../../devnet/memoryFolder.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { readDatabaseTime } from '../../../src/db/databaseTime.ts';
import { transparencyHeads } from '../../../src/db/tables/index.ts';
import { openConfiguredDatabase } from '../../../src/startup/openDatabase.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

const MINUTE_MS = 60_000;

let database: TestDatabase;
let handle: DatabaseHandle;

beforeAll(async () => {
  database = await createTestDatabase();
  const name = new URL(database.url).pathname.slice(1);
  for (const setting of [
    "datestyle = 'SQL, DMY'",
    "bytea_output = 'escape'",
    "default_transaction_isolation = 'repeatable read'",
  ]) {
    await database.handle.sql.unsafe(`ALTER DATABASE ${name} SET ${setting}`);
  }
  handle = openDatabase({ url: database.url, poolSize: 2, applicationName: 'test' });
});
afterAll(async () => {
  await handle.close();
  await database.drop();
});

it('reads times and bytes as they are', async () => {
  const root = Uint8Array.from({ length: 32 }, (_, at) => [0, 1, 92, 200][at % 4] ?? 0);
  const head = { log: 'audit' as const, size: 0, root, checkpoint: '', madeAt: new Date() };
  await handle.db.insert(transparencyHeads).values(head);
  const [stored] = await handle.db.select().from(transparencyHeads);
  expect(new Uint8Array(stored?.root ?? [])).toEqual(root);
  expect(stored?.madeAt).toEqual(head.madeAt);
  expect(Math.abs((await readDatabaseTime(handle.db)).getTime() - Date.now())).toBeLessThan(MINUTE_MS);
});

it('sees after a lock what its last holder committed', async () => {
  const rows = await handle.db.transaction((tx) => tx.execute(sql`SHOW transaction_isolation`));
  expect(rows[0]).toEqual({ transaction_isolation: 'read committed' });
});

it('does not start where a pooler leaves them as they are', async () => {
  const dataDir = await mkdtemp(join(await memoryFolder(), 'settings-'));
  // Another spelling of the address: the program then takes the first one for a pooler's.
  const direct = `${database.url}?application_name=direct`;
  const config = await loadConfig({
    DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    DATABASE_DIRECT_URL: direct,
  });
  try {
    await expect(openConfiguredDatabase(config)).rejects.toThrow(/bytea_output = "escape".*ALTER ROLE/);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});
