/**
 * Tracks the users of the embedded PostgreSQL: each process holds a shared advisory lock in it, on a
 * connection kept open for the lock alone. The lock ends with the process, so no stale lock can stay behind.
 * A process that gets the lock exclusively is alone, and no other one joins while it holds the lock.
 */
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';

/** Locks in the database "postgres", which this product uses for nothing else. */
const PRESENCE_LOCK = 1;
const CREATION_LOCK = 2;
const CONNECT_TIMEOUT_SECONDS = 5;
const REJOIN_DELAY_MS = 1000;
/** A restart by an operator takes less time than so many looks. */
const MAX_LOOKS_WITHOUT_SERVER = 5;

const ONE_CONNECTION = {
  max: 1,
  // The lock lives as long as the connection.
  idle_timeout: 0,
  max_lifetime: null,
  connect_timeout: CONNECT_TIMEOUT_SECONDS,
  // As in client.ts: without an answer from a stopping server, postgres.js would end this process.
  fetch_types: false,
  onnotice: () => {},
} as const;

/** Credentials of a role, whose name and password need no quotes. */
export interface Credentials {
  name: string;
  password: string;
}

export interface Presence {
  /** Makes a role that may only connect, unless the role exists. */
  ensureRole(role: Credentials): Promise<void>;
  /** Makes a database unless it exists. */
  ensureDatabase(name: string): Promise<void>;
  /**
   * Ends the presence. When no other process is present, runs `whenLast` while none can join.
   */
  leave(whenLast: () => Promise<void>): Promise<void>;
}

/**
 * @param requireServer throws when the server itself has ended, and not only its connections: no process
 * starts it again, so this process ends with that error, and its next start starts the server
 * @throws the error of postgres.js when the server can't be used; another process may be stopping it
 */
export async function join(url: string, requireServer: () => Promise<void>): Promise<Presence> {
  let isJoined = false;
  let isLeaving = false;
  const sql = postgres(url, {
    ...ONE_CONNECTION,
    onclose: () => {
      if (isJoined && !isLeaving) void rejoin();
    },
  });
  const hold = async () => {
    await sql`SELECT pg_advisory_lock_shared(${PRESENCE_LOCK})`;
    isJoined = true;
  };

  /** After a crash PostgreSQL restarts itself, without this process's lock. */
  async function rejoin(): Promise<void> {
    isJoined = false;
    for (let looks = 1; !isJoined && !isLeaving; looks++) {
      await delay(REJOIN_DELAY_MS, undefined, { ref: false });
      await hold().catch(() => {});
      if (!isJoined && !isLeaving && looks >= MAX_LOOKS_WITHOUT_SERVER) await requireServer();
    }
  }

  async function isLast(): Promise<boolean> {
    await sql`SELECT pg_advisory_unlock_shared(${PRESENCE_LOCK})`;
    const [row] = await sql<{ last: boolean }[]>`SELECT pg_try_advisory_lock(${PRESENCE_LOCK}) AS last`;
    return row?.last ?? false;
  }

  try {
    await hold();
  } catch (error) {
    isLeaving = true;
    await sql.end({ timeout: 0 });
    throw error;
  }
  /** Runs in one process at a time, so that only one of two processes makes the missing role or database. */
  async function create(work: () => Promise<unknown>): Promise<void> {
    await sql`SELECT pg_advisory_lock(${CREATION_LOCK})`;
    await work();
    await sql`SELECT pg_advisory_unlock(${CREATION_LOCK})`;
  }

  return {
    ensureRole: ({ name, password }) =>
      create(async () => {
        const existing = await sql`SELECT 1 FROM pg_roles WHERE rolname = ${name}`;
        if (existing.length === 0) await sql.unsafe(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`);
      }),
    ensureDatabase: (name) =>
      create(async () => {
        const existing = await sql`SELECT 1 FROM pg_database WHERE datname = ${name}`;
        if (existing.length === 0) await sql`CREATE DATABASE ${sql(name)}`;
      }),
    leave: async (whenLast) => {
      isLeaving = true;
      try {
        // A server that can't be asked has ended and needs no stop.
        if (await isLast().catch(() => false)) await whenLast();
      } finally {
        await sql.end({ timeout: 0 });
      }
    },
  };
}
