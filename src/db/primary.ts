/**
 * Finds the server that takes writes among the servers of an address.
 *
 *   connect ──▶ the server in use ──takes writes──▶ a client
 *                └─ else: all servers are asked; of those that take writes, the newest timeline is used
 *
 * Each promotion begins a new timeline. So an old primary that comes back beside the new one is recognised,
 * although it would take writes as well: no client connects to an older timeline than this process has seen,
 * and clients of an older timeline are given up.
 *
 * With one server in the address there is no choice, and no server is asked.
 */
import { singleFlight } from '../lib/singleFlight.ts';
import { serverUrlsOf } from '../lib/databaseUrl.ts';
import { createClient, type Client, type ClientOptions, type OnLost } from './client.ts';
import { ConnectionLost } from './connectionLost.ts';

export interface Primary {
  /** A client of the server that takes writes. @throws ConnectionLost when there is none */
  connect(options: ClientOptions, onLost?: OnLost): Promise<Client>;
  /** Whether a primary was promoted since the client connected: its reads are old, its writes are lost. */
  isOutdated(client: Client): boolean;
  /**
   * Reports that an answer did not come in time: the next connection asks all servers, because another one
   * may have been promoted.
   */
  suspect(): void;
}

/** A server's description of itself. */
interface Server {
  isStandby: boolean;
  isReadOnly: boolean;
  /** The cluster's identifier; a copy has the same one as its original. */
  systemId: string;
  /** The first eight digits of a log file's name; null on a standby. */
  timeline: string | null;
}

/** A silent server delays each new connection by this long, once; a busy one answers in milliseconds. */
const PROBE_TIMEOUT_MS = 3_000;

const PROBE = `SELECT pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only') = 'on' AS "isReadOnly",
  (SELECT system_identifier::text FROM pg_control_system()) AS "systemId",
  CASE WHEN pg_is_in_recovery() THEN NULL ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`;

/** @param address a PostgreSQL URL, with several servers separated by commas; one server is used unasked */
export function createPrimary(address: string): Primary {
  const urls = serverUrlsOf(address);
  const [only = address] = urls;
  if (urls.length <= 1) {
    return {
      connect: async (options, onLost) => createClient(only, options, onLost),
      isOutdated: () => false,
      suspect: () => {},
    };
  }
  return createElection(urls);
}

/** Returns the primary's address, for callers that connect themselves. @throws ConnectionLost */
export async function findPrimaryUrl(address: string): Promise<string> {
  const urls = serverUrlsOf(address);
  return urls.length <= 1 ? address : elect(urls, { systemId: null, timeline: '' });
}

/** This process's knowledge of the cluster. */
interface Known {
  systemId: string | null;
  timeline: string;
}

function createElection(urls: readonly string[]): Primary {
  const known: Known = { systemId: null, timeline: '' };
  const timelineOf = new WeakMap<Client, string>();
  let inUse: string | null = null;
  const find = singleFlight(() => elect(urls, known));

  async function open(url: string, options: ClientOptions, onLost?: OnLost): Promise<Client> {
    const client = createClient(url, options, onLost);
    try {
      timelineOf.set(client, requireCurrent(await probe(client), known));
      return client;
    } catch (error) {
      client.lose(error as Error);
      throw error;
    }
  }

  return {
    async connect(options, onLost) {
      if (inUse !== null) {
        const inTurn = inUse;
        try {
          return await open(inTurn, options, onLost);
        } catch {
          if (inUse === inTurn) inUse = null;
        }
      }
      inUse = await find();
      return open(inUse, options, onLost);
    },
    isOutdated: (client) => (timelineOf.get(client) ?? known.timeline) < known.timeline,
    suspect() {
      inUse = null;
    },
  };
}

/** Asks all servers at once. */
async function elect(urls: readonly string[], known: Known): Promise<string> {
  const answers = await Promise.all(
    urls.map(async (url) => {
      const client = createClient(url, {});
      try {
        return { url, server: await probe(client) };
      } catch (error) {
        return { url, failure: describe(error) };
      } finally {
        void client.end();
      }
    }),
  );
  const found = answers.flatMap(({ url, server }) => (server?.timeline ? [{ url, server }] : []));
  const newest = found.toSorted((a, b) => compare(b.server.timeline, a.server.timeline))[0];
  try {
    if (newest === undefined) throw new ConnectionLost('none is a primary');
    requireCurrent(newest.server, known);
    return newest.url;
  } catch (error) {
    const each = answers.map(
      ({ url, server, failure }) => `${new URL(url).host} ${server ? stateOf(server) : failure}`,
    );
    throw new ConnectionLost(
      `No server of the database takes writes (${each.join('; ')}): ${(error as Error).message}`,
    );
  }
}

async function probe(client: Client): Promise<Server> {
  const [server] = await client.ask((sql) => sql.unsafe<Server[]>(PROBE), PROBE_TIMEOUT_MS);
  if (server === undefined) throw new ConnectionLost('the server said nothing of itself');
  return server;
}

/** @returns the server's timeline @throws ConnectionLost unless it takes writes and none newer is known */
function requireCurrent(server: Server, known: Known): string {
  if (server.timeline === null || server.isReadOnly) throw new ConnectionLost('the server takes no writes');
  if (known.systemId !== null && known.systemId !== server.systemId) {
    throw new ConnectionLost('the server belongs to another cluster than the one before');
  }
  if (server.timeline < known.timeline) {
    throw new ConnectionLost('the server is an old primary: another one was promoted since');
  }
  known.systemId = server.systemId;
  known.timeline = server.timeline;
  return server.timeline;
}

function stateOf({ isStandby, isReadOnly, timeline }: Server): string {
  if (isStandby) return 'is a standby';
  return `is ${isReadOnly ? 'read-only' : 'a primary'} on timeline ${Number.parseInt(timeline ?? '0', 16)}`;
}

function describe(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || 'gave no answer';
}

/** Compares timelines, whose texts have one length. */
function compare(a: string | null, b: string | null): number {
  return (a ?? '') < (b ?? '') ? -1 : 1;
}
