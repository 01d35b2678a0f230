/**
 * The administrator of a database or a role may have set, for other programs, how values are written, how
 * transactions are isolated and where tables are searched.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { memoryFolder } from '../../../devnet/memoryFolder.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { readDatabaseTime } from '../../../src/db/databaseTime.ts';
import { transparencyHeads } from '../../../src/db/tables/index.ts';
import { openConfiguredDatabase, type ConfiguredDatabase } from '../../../src/startup/openDatabase.ts';
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
    'search_path = app, public',
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
  const head = { log: 'audit' as const, size: 0, root, checkpoint: '', updatedAt: new Date() };
  await handle.db.insert(transparencyHeads).values(head);
  const [stored] = await handle.db.select().from(transparencyHeads);
  expect(new Uint8Array(stored?.root ?? [])).toEqual(root);
  expect(stored?.updatedAt).toEqual(head.updatedAt);
  expect(Math.abs((await readDatabaseTime(handle.db)).getTime() - Date.now())).toBeLessThan(MINUTE_MS);
});

it('sees after a lock what its last holder committed', async () => {
  const rows = await handle.db.transaction((tx) => tx.execute(sql`SHOW transaction_isolation`));
  expect(rows[0]).toEqual({ transaction_isolation: 'read committed' });
});

/** Opens the database as a server's start does. */
async function openConfigured(env: Record<string, string>): Promise<ConfiguredDatabase> {
  const dataDir = await mkdtemp(join(await memoryFolder(), 'settings-'));
  try {
    return await openConfiguredDatabase(await loadConfig({ DATA_DIR: dataDir, ...env }), {
      olderSchema: 'migrate',
    });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

it('does not start where a pooler leaves them as they are', async () => {
  // Another spelling of the address makes the program take the first one for a pooler's.
  const behindPooler = {
    DATABASE_URL: database.url,
    DATABASE_DIRECT_URL: `${database.url}?application_name=direct`,
  };
  const setting = /bytea_output = "escape".*ALTER ROLE/;
  await expect(openConfigured(behindPooler)).rejects.toThrow(setting);
  const name = new URL(database.url).pathname.slice(1);
  for (const setting of ['datestyle', 'bytea_output', 'default_transaction_isolation']) {
    await database.handle.sql.unsafe(`ALTER DATABASE ${name} RESET ${setting}`);
  }
  await database.handle.sql`CREATE SCHEMA app`;
  await expect(openConfigured(behindPooler)).rejects.toThrow(/search_path = "app, public".*"public"/);
});

describe('a new database', () => {
  const name = `new_${randomUUID().replaceAll('-', '')}`;
  const url = () => Object.assign(new URL(database.url), { pathname: `/${name}` }).href;
  const create = (options: string) => database.handle.sql.unsafe(`CREATE DATABASE ${name} ${options}`);
  afterEach(() => database.handle.sql.unsafe(`DROP DATABASE ${name}`));

  it('is migrated and used where the role has a schema of its own before the others', async () => {
    await create('');
    await database.handle.sql.unsafe(`ALTER DATABASE ${name} SET search_path = app, public`);
    const owner = openDatabase({ url: url(), poolSize: 1, applicationName: 'owner' });
    await owner.sql`CREATE SCHEMA app`;
    await owner.close();
    const opened = await openConfigured({ DATABASE_URL: url() });
    expect(await opened.handle.db.select().from(transparencyHeads)).toEqual([]);
    await opened.stop();
  });

  it('is refused where its encoding does not hold every text', async () => {
    await create("ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    await expect(openConfigured({ DATABASE_URL: url() })).rejects.toThrow(
      /encoding SQL_ASCII.*ENCODING 'UTF8'/,
    );
  });
});
