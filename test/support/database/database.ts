/**
 * A database of its own for a test file: cloned from the migrated template, dropped afterwards.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { sql, type SQL } from 'drizzle-orm';
import postgres from 'postgres';
import { inject } from 'vitest';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { APPLICATION_ROLE, TEMPLATE_DATABASE } from './globalSetup.ts';

/** A template can be cloned by one session at a time; test files take turns. */
const CLONE_LOCK = 4711;

export interface TestDatabase {
  /** As a superuser, who may corrupt and restore what is there. */
  url: string;
  handle: DatabaseHandle;
  /** Closes the pool and drops the database; fails when something else still holds a connection. */
  drop(): Promise<void>;
}

export async function createTestDatabase(
  options: {
    poolSize?: number;
    /** A database to copy, such as a backup would; without open connections. The migrated template by default. */
    copyOf?: Pick<TestDatabase, 'url'>;
  } = {},
): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await asAdministrator(serverUrl, async (sql) => {
    await sql`SELECT pg_advisory_lock(${CLONE_LOCK})`;
    const template = options.copyOf ? new URL(options.copyOf.url).pathname.slice(1) : TEMPLATE_DATABASE;
    // Page by page through the log, which is the default, takes three times as long.
    await sql.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  });
  const url = `${serverUrl}/${name}`;
  const handle = openDatabase({ url, poolSize: options.poolSize ?? 10, applicationName: 'test' });
  return {
    url,
    handle,
    async drop() {
      await handle.close();
      await asAdministrator(serverUrl, async (sql) => {
        await awaitNoConnections(sql, name);
        // Without FORCE: a pool that a test forgot to close makes this fail, and the test with it.
        await sql.unsafe(`DROP DATABASE ${name}`);
      });
    },
  };
}

/** The database as the product has it, without power over its rules; the caller closes it before the database is dropped. */
export function openAsApplication({ url }: Pick<TestDatabase, 'url'>, poolSize = 20): DatabaseHandle {
  const { href } = Object.assign(new URL(url), { username: APPLICATION_ROLE });
  return openDatabase({ url: href, poolSize, applicationName: 'application' });
}

/** Changes what the database's rules keep as it is, such as a time that has to have passed. */
export async function changePastRules({ handle }: Pick<TestDatabase, 'handle'>, change: SQL): Promise<void> {
  await handle.db.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    await tx.execute(change);
  });
}

async function asAdministrator(
  serverUrl: string,
  work: (sql: postgres.Sql) => Promise<unknown>,
): Promise<void> {
  const sql = postgres(`${serverUrl}/postgres`, { max: 1, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}

/** The server notices within moments that a killed process is gone; a pool left open stays. */
async function awaitNoConnections(sql: postgres.Sql, name: string): Promise<void> {
  for (let looks = 0; looks < 50; looks++) {
    const connections = await sql`SELECT 1 FROM pg_stat_activity WHERE datname = ${name}`;
    if (connections.length === 0) return;
    await delay(100);
  }
}
