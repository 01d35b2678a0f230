/**
 * Who uses the embedded PostgreSQL: each process holds a shared advisory lock in it, on a connection kept open
 * for that alone. The lock falls with the process, however it ends, so nothing stale can stay behind. A process
 * that gets the lock exclusively is alone, and no other one joins while it holds the lock.
 */
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';

/** In the database "postgres", which nothing else of ours uses. */
const PRESENCE_LOCK = 1;
const CREATION_LOCK = 2;
const CONNECT_TIMEOUT_SECONDS = 5;
const REJOIN_DELAY_MS = 1000;
/** A restart by hand takes less. */
const MAX_LOOKS_WITHOUT_SERVER = 5;

const ONE_CONNECTION = {
  max: 1,
  // The lock lives as long as the connection.
  idle_timeout: 0,
  max_lifetime: null,
  connect_timeout: CONNECT_TIMEOUT_SECONDS,
  // As in client.ts: a server that is being stopped would end the process by not answering.
  fetch_types: false,
  onnotice: () => {},
} as const;

/** Of a role; its name and its password need no quotes. */
export interface Credentials {
  name: string;
  password: string;
}

export interface Presence {
  /** Makes a role that may connect, and nothing else, unless it is there. */
  ensureRole(role: Credentials): Promise<void>;
  /** Makes a database unless it is there. */
  ensureDatabase(name: string): Promise<void>;
  /**
   * Ends the presence. When no other process is present, runs `whenLast` while none can join.
   */
  leave(whenLast: () => Promise<void>): Promise<void>;
}

/**
 * @param requireServer throws when the server has ended, and not only its connections: no process starts it again, so the process ends with
 * that error, and its next start does
 * @throws what postgres.js throws when the server can't be used; another process may be stopping it right now.
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

  /** After a crash PostgreSQL starts itself again, without our lock. */
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
  /** One process at a time, so that of two that find it missing one makes it. */
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
        // A server that can't be asked is gone: nothing is left to stop.
        if (await isLast().catch(() => false)) await whenLast();
      } finally {
        await sql.end({ timeout: 0 });
      }
    },
  };
}
