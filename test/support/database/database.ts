/**
 * Databases for test files: each is cloned from the migrated template, and dropped afterwards.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { sql, type SQL } from 'drizzle-orm';
import postgres from 'postgres';
import { inject } from 'vitest';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { APPLICATION_ROLE, TEMPLATE_DATABASE } from './globalSetup.ts';

/** Only one session at a time can clone a template, so the workers take turns. */
const CLONE_LOCK = 4711;
/**
 * A worker makes and drops databases every second or so, and a connection for each would cost more than the
 * work.
 */
const ADMINISTRATOR_IDLE_SECONDS = 5;

/**
 * Enough for the concurrent work of a test. Each connection plans every statement separately, so the server's
 * work grows with a larger pool, which opens connections at busy moments and closes none.
 */
const POOL_SIZE = 5;

export interface TestDatabase {
  /** URL of a superuser, who may corrupt and restore rows. */
  url: string;
  handle: DatabaseHandle;
  /** Closes the pool and drops the database; fails when something else still holds a connection. */
  drop(): Promise<void>;
}

export async function createTestDatabase(
  options: {
    poolSize?: number;
    /** A database to copy, as a backup would, without open connections; the migrated template by default. */
    copyOf?: Pick<TestDatabase, 'url'>;
  } = {},
): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const template = options.copyOf ? new URL(options.copyOf.url).pathname.slice(1) : TEMPLATE_DATABASE;
  const administrator = administratorOf(serverUrl);
  await administrator`SELECT pg_advisory_lock(${CLONE_LOCK})`;
  try {
    // The default strategy copies page by page through the log, and takes three times as long.
    await administrator.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  } finally {
    await administrator`SELECT pg_advisory_unlock(${CLONE_LOCK})`;
  }
  const url = `${serverUrl}/${name}`;
  const handle = openDatabase({ url, poolSize: options.poolSize ?? POOL_SIZE, applicationName: 'test' });
  return {
    url,
    handle,
    async drop() {
      await handle.close();
      await awaitNoConnections(administrator, name);
      // Without FORCE, so that a pool which a test forgot to close makes this statement and the test fail.
      await administrator.unsafe(`DROP DATABASE ${name}`);
    },
  };
}

/**
 * Opens the database as the application's role, without power over its rules. The caller closes the handle
 * before the database is dropped.
 */
export function openAsApplication({ url }: Pick<TestDatabase, 'url'>, poolSize = POOL_SIZE): DatabaseHandle {
  const { href } = Object.assign(new URL(url), { username: APPLICATION_ROLE });
  return openDatabase({ url: href, poolSize, applicationName: 'application' });
}

/** Makes a change that the database's rules forbid, such as moving a time into the past. */
export async function changePastRules({ handle }: Pick<TestDatabase, 'handle'>, change: SQL): Promise<void> {
  await handle.db.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    await tx.execute(change);
  });
}

const administrators = new Map<string, postgres.Sql>();

/** Returns this worker's connection to the server; it closes when idle. */
function administratorOf(serverUrl: string): postgres.Sql {
  const known = administrators.get(serverUrl);
  if (known) return known;
  const opened = postgres(`${serverUrl}/postgres`, {
    max: 1,
    idle_timeout: ADMINISTRATOR_IDLE_SECONDS,
    fetch_types: false,
    onnotice: () => {},
  });
  administrators.set(serverUrl, opened);
  return opened;
}

/**
 * Waits for the end of all connections. The server notices a killed process within moments; an open pool
 * stays.
 */
async function awaitNoConnections(sql: postgres.Sql, name: string): Promise<void> {
  for (let looks = 0; looks < 50; looks++) {
    const connections = await sql`SELECT 1 FROM pg_stat_activity WHERE datname = ${name}`;
    if (connections.length === 0) return;
    await delay(100);
  }
}
