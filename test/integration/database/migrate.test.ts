/**
 * Migrations: two instances that start together leave one schema, and a second run changes nothing.
 */
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate as runMigrations } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ADVISORY_LOCKS } from '../../../src/db/advisoryLock.ts';
import { migrate, type MigrationSet } from '../../../src/db/migrate.ts';
import { innermostMessage } from '../../../src/lib/errors.ts';

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

/**
 * Runs the platform's migrations in steps on a new database, by the migrator itself; each step ends at the
 * given number of migrations.
 */
async function migrateInSteps(database: string, stepsOf: (tags: readonly string[]) => readonly number[]) {
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  await server.unsafe(`CREATE DATABASE ${database}`);
  const connection = postgres(url.replace(name, database), { max: 1, onnotice: () => {} });
  try {
    await cp(fileURLToPath(new URL('../../../drizzle/platform', import.meta.url)), folder, {
      recursive: true,
    });
    const journalPath = join(folder, 'meta/_journal.json');
    const journal = JSON.parse(await readFile(journalPath, 'utf8')) as { entries: { tag: string }[] };
    const tags = journal.entries.map(({ tag }) => tag);
    const config = { migrationsFolder: folder, migrationsSchema: 'drizzle', migrationsTable: 'steps' };
    for (const step of stepsOf(tags)) {
      await writeFile(journalPath, JSON.stringify({ ...journal, entries: journal.entries.slice(0, step) }));
      const outcome = await runMigrations(drizzle(connection), config).then(
        () => 'applied',
        innermostMessage,
      );
      expect([tags[step - 1], outcome]).toEqual([tags[step - 1], 'applied']);
    }
    const [row] = await connection<{ count: number }[]>`SELECT count(*)::integer AS count FROM drizzle.steps`;
    expect(row?.count).toBe(tags.length);
    return tags.length;
  } finally {
    await connection.end();
    await server.unsafe(`DROP DATABASE ${database}`);
    await rm(folder, { recursive: true });
  }
}

it('applies each migration to a database that has only those before it, as an update of an installation does', async () => {
  expect(await migrateInSteps(`${name}_stepped`, (tags) => tags.map((_tag, at) => at + 1))).toBeGreaterThan(
    1,
  );
});

it('applies all that a database lacks in one transaction, as an update that leaves releases out does', async () => {
  let count = Number.POSITIVE_INFINITY;
  for (let had = 1; had < count; had++) {
    count = await migrateInSteps(`${name}_from_${had}`, (tags) => [had, tags.length]);
  }
  expect(count).toBeGreaterThan(1);
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

it('waits for a table in use without keeping statements from it, and is tried again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  await cp(fileURLToPath(new URL('../../../drizzle/platform', import.meta.url)), join(folder, 'platform'), {
    recursive: true,
  });
  const journalPath = join(folder, 'platform/meta/_journal.json');
  const journal = JSON.parse(await readFile(journalPath, 'utf8')) as { entries: { when: number }[] };
  const next = { ...journal.entries.at(-1), idx: journal.entries.length, when: Date.now(), tag: '0099_next' };
  await writeFile(journalPath, JSON.stringify({ ...journal, entries: [...journal.entries, next] }));
  await writeFile(join(folder, 'platform/0099_next.sql'), 'ALTER TABLE projects ADD COLUMN later integer');
  const [reconciliation, request] = [1, 2].map(() =>
    postgres(url, { max: 1, onnotice: () => {}, connection: { transaction_timeout: 60_000 } }),
  );
  if (!reconciliation || !request) throw new Error('there are two');
  try {
    let migrated: Promise<unknown> | undefined;
    // Shorter than the pause between two tries, in which no other instance may get the lock, and than its
    // waits.
    for (const limit of ['idle_session_timeout', 'statement_timeout', 'transaction_timeout']) {
      await server.unsafe(`ALTER DATABASE ${name} SET ${limit} = '1s'`);
    }
    const waiting = async () => {
      for (;;) {
        const [row] =
          await sql`SELECT pid FROM pg_locks WHERE relation = 'projects'::regclass AND NOT granted`;
        if (row) return row['pid'] as unknown;
      }
    };
    await reconciliation.begin(async (tx) => {
      await tx`SELECT 1 FROM projects`;
      migrated = migrate(url, ['platform'], undefined, { folder: pathToFileURL(`${folder}/`) });
      const session = await waiting();
      // As long as a request's statement may take.
      await request`SET statement_timeout = 8000`;
      expect(await request`SELECT 1 FROM projects`).toHaveLength(0);
      expect(await waiting()).toBe(session);
    });
    await migrated;
    expect(await sql`SELECT later FROM projects`).toHaveLength(0);
  } finally {
    await Promise.all([reconciliation.end(), request.end(), rm(folder, { recursive: true })]);
  }
});
