/**
 * Migrations: two instances that start at once leave one schema, and a second run changes nothing.
 */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ADVISORY_LOCKS } from '../../src/db/advisoryLock.ts';
import { migrate, type MigrationSet } from '../../src/db/migrate.ts';

const SETS: MigrationSet[] = ['platform', 'embedded-network'];
const name = `test_${randomUUID().replaceAll('-', '')}`;
let server: postgres.Sql;
let url: string;
let sql: postgres.Sql;

beforeAll(async () => {
  const serverUrl = inject('postgresUrl');
  url = `${serverUrl}/${name}`;
  server = postgres(`${serverUrl}/postgres`, { max: 1, onnotice: () => {} });
  await server.unsafe(`CREATE DATABASE ${name}`);
  sql = postgres(url, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await sql.end();
  await server.unsafe(`DROP DATABASE ${name}`);
  await server.end();
});

async function history(): Promise<postgres.Row[]> {
  return [
    ...(await sql`
      SELECT 'platform' AS set, hash FROM drizzle.platform_migrations
      UNION ALL SELECT 'embedded-network', hash FROM drizzle.embedded_network_migrations
      ORDER BY set, hash`),
  ];
}

it('runs each migration once when several instances start at the same time', async () => {
  await Promise.all([migrate(url, SETS), migrate(url, SETS), migrate(url, SETS)]);
  const applied = await history();
  const hashes = applied.map(({ hash }) => hash as string);
  expect(new Set(applied.map(({ set }) => set as string)).size).toBe(SETS.length);
  expect(new Set(hashes).size).toBe(hashes.length);
});

it('changes nothing the second time', async () => {
  const before = await history();
  await migrate(url, SETS);
  expect(await history()).toEqual(before);
});

it('waits for an instance that holds the lock, and goes on when that one is gone', async () => {
  const holder = postgres(url, { max: 1, onnotice: () => {} });
  await holder`SELECT pg_advisory_lock(${ADVISORY_LOCKS.migrations})`;
  const migrated = migrate(url, SETS).then(() => 'migrated');
  while ((await sql`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).length === 0);
  expect(await Promise.race([migrated, Promise.resolve('waiting')])).toBe('waiting');
  await holder.end({ timeout: 0 });
  expect(await migrated).toBe('migrated');
});
