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

/** A template can be cloned by one session at a time; workers take turns. */
const CLONE_LOCK = 4711;
/** A worker makes and drops databases every second or so: a connection for each costs more than they do. */
const ADMINISTRATOR_IDLE_SECONDS = 5;

/**
 * Enough for what runs at once in a test. A connection plans each statement for itself, so with more of them, which a busy moment opens
 * and nothing closes, the server's work grows.
 */
const POOL_SIZE = 5;

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
  const template = options.copyOf ? new URL(options.copyOf.url).pathname.slice(1) : TEMPLATE_DATABASE;
  const administrator = administratorOf(serverUrl);
  await administrator`SELECT pg_advisory_lock(${CLONE_LOCK})`;
  try {
    // Page by page through the log, which is the default, takes three times as long.
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
      // Without FORCE: a pool that a test forgot to close makes this fail, and the test with it.
      await administrator.unsafe(`DROP DATABASE ${name}`);
    },
  };
}

/** The database as the product has it, without power over its rules; the caller closes it before the database is dropped. */
export function openAsApplication({ url }: Pick<TestDatabase, 'url'>, poolSize = POOL_SIZE): DatabaseHandle {
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

const administrators = new Map<string, postgres.Sql>();

/** One connection of this worker; it closes by itself. */
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

/** The server notices within moments that a killed process is gone; a pool left open stays. */
async function awaitNoConnections(sql: postgres.Sql, name: string): Promise<void> {
  for (let looks = 0; looks < 50; looks++) {
    const connections = await sql`SELECT 1 FROM pg_stat_activity WHERE datname = ${name}`;
    if (connections.length === 0) return;
    await delay(100);
  }
}
