/**
 * Followers of the public feed: when a socket ends, its follower goes on after its last cursor, at any
 * server.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import type { Lab } from './lab.ts';
import type { Random } from './schedule.ts';

interface Seen {
  tokenAddress: string;
  index: number;
  note: string;
}

export interface Follower {
  /** The buyer whose retirements it follows; null for all. */
  beneficiary: string | null;
  seen: Seen[];
  reconnects: number;
  stop(): Promise<void>;
}

const RECONNECT_MS = 200;
/** A silent socket is given up after this time, as clients do, because the server answers pings. */
const KEEP_ALIVE_MS = 3_000;
const ANSWER_TIMEOUT_MS = 3_000;

const FEED = `subscription ($after: String, $filter: RetirementFeedFilter) {
  retirementFeed(after: $after, filter: $filter) { cursor record { tokenAddress index note } }
}`;

/** graphql-ws detects silence only of open connections; one that is silent before needs this limit. */
class ImpatientSocket extends WebSocket {
  constructor(address: string, protocols?: string | string[]) {
    super(address, protocols, { handshakeTimeout: ANSWER_TIMEOUT_MS });
  }
}

interface FeedData {
  retirementFeed: { cursor: string; record: Seen };
}

export function followFeed(lab: Lab, random: Random, beneficiary: string | null): Follower {
  const filter = beneficiary === null ? null : { beneficiaries: [beneficiary] };
  let isStopped = false;
  let dispose = async () => {};
  let epoch = lab.epoch;
  let cursor = '0';
  const follower: Follower = {
    beneficiary,
    seen: [],
    reconnects: 0,
    async stop() {
      isStopped = true;
      await dispose();
      await running;
    },
  };

  async function run(): Promise<void> {
    while (!isStopped) {
      if (epoch !== lab.epoch) {
        // The copy refuses the cursors of the lost history.
        epoch = lab.epoch;
        cursor = '0';
        follower.seen = [];
      }
      await followOnce();
      follower.reconnects++;
      await delay(RECONNECT_MS);
    }
  }

  async function followOnce(): Promise<void> {
    const began = epoch;
    let pong: NodeJS.Timeout | null = null;
    let socket: WebSocket | null = null;
    const client = createClient({
      url: `${random.pick(lab.slots).url.replace('http', 'ws')}/graphql`,
      webSocketImpl: ImpatientSocket,
      retryAttempts: 0,
      lazy: true,
      keepAlive: KEEP_ALIVE_MS,
      connectionAckWaitTimeout: ANSWER_TIMEOUT_MS,
      on: {
        opened: (opened) => void (socket = opened as WebSocket),
        ping: (isReceived) => {
          if (!isReceived) pong = setTimeout(() => socket?.terminate(), ANSWER_TIMEOUT_MS);
        },
        pong: (isReceived) => {
          if (isReceived && pong) clearTimeout(pong);
        },
      },
    });
    dispose = async () => {
      socket?.terminate();
      await client.dispose();
    };
    await new Promise<void>((resolve) => {
      client.subscribe<FeedData>(
        { query: FEED, variables: { after: cursor, filter } },
        {
          next: ({ data }) => {
            if (!data || began !== lab.epoch) return void dispose();
            cursor = data.retirementFeed.cursor;
            follower.seen.push(data.retirementFeed.record);
          },
          error: () => resolve(),
          complete: () => resolve(),
        },
      );
    });
    if (pong) clearTimeout(pong);
    await dispose();
  }

  const running = run();
  return follower;
}
