/**
 * Follows every retirement, from the first one on, for as long as it runs: it survives restarts of the
 * server, of the network between them, and of itself, without a gap. Each record is printed as one line of
 * JSON. When the server's database was set back to an older state, it begins again, and prints again what it
 * has printed: a record is the same by `tokenAddress` and `index`.
 *
 *   API_URL=http://localhost:4000/graphql CURSOR_FILE=cursor.txt node --import tsx examples/follower/main.ts
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type Client } from 'graphql-ws';
import { WebSocket } from 'ws';

interface FeedEvent {
  retirementFeed: { cursor: string; record: Record<string, unknown> };
}

/** The server's database has lost the cursor's history: the feed refuses this cursor from now on. */
class CursorLost extends Error {}

/** The whole history. */
const FROM_THE_START = '0';
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 10_000;
/** A connection that says nothing for this long, pings included, is dead. */
const SILENCE_MS = 30_000;

const QUERY = await readFile(new URL('follow.graphql', import.meta.url), 'utf8');
const { API_URL = 'http://localhost:4000/graphql', CURSOR_FILE = 'cursor.txt' } = process.env;

async function readCursor(): Promise<string> {
  return readFile(CURSOR_FILE, 'utf8').catch(() => FROM_THE_START);
}

/** Whole or not at all: a file that is half written would begin elsewhere. */
async function writeCursor(cursor: string): Promise<void> {
  await writeFile(`${CURSOR_FILE}.new`, cursor);
  await rename(`${CURSOR_FILE}.new`, CURSOR_FILE);
}

function connect(): Client {
  let silence: NodeJS.Timeout;
  const listen = (socket: WebSocket) => {
    clearTimeout(silence);
    silence = setTimeout(() => socket.terminate(), SILENCE_MS);
  };
  return createClient({
    url: API_URL.replace(/^http/, 'ws'),
    webSocketImpl: WebSocket,
    // The client's own retries would begin again with the first cursor.
    retryAttempts: 0,
    on: {
      opened: (opened) => {
        const socket = opened as WebSocket;
        listen(socket);
        socket.on('ping', () => listen(socket));
        socket.on('message', () => listen(socket));
      },
      closed: () => clearTimeout(silence),
    },
  });
}

/** The events of a websocket that fails or is closed are no errors. */
function problemOf(error: unknown): string {
  const { message, reason, code } = error as { message?: string; reason?: string; code?: number };
  return message || reason || (code === undefined ? String(error) : `the connection was closed with ${code}`);
}

/** Until the connection breaks. @returns whether an event came */
async function followOnce(): Promise<boolean> {
  const client = connect();
  let hasEvent = false;
  try {
    const variables = { after: await readCursor() };
    for await (const { data, errors } of client.iterate<FeedEvent>({ query: QUERY, variables })) {
      if (data == null && errors?.[0]?.extensions?.['code'] === 'BAD_USER_INPUT')
        throw new CursorLost(errors[0].message);
      if (data == null) throw new Error(JSON.stringify(errors));
      const { cursor, record } = data.retirementFeed;
      // First the work, then the cursor: after a crash the last record may come twice, and none is missing.
      process.stdout.write(`${JSON.stringify({ cursor, ...record })}\n`);
      await writeCursor(cursor);
      hasEvent = true;
    }
  } catch (error) {
    if (error instanceof CursorLost) await writeCursor(FROM_THE_START);
    process.stderr.write(`the feed ended: ${problemOf(error)}\n`);
  } finally {
    await client.dispose();
  }
  return hasEvent;
}

let retryMs = FIRST_RETRY_MS;
for (;;) {
  retryMs = (await followOnce()) ? FIRST_RETRY_MS : Math.min(retryMs * 2, MAX_RETRY_MS);
  // Half of it by chance, so that a thousand followers do not come back at once.
  await delay(retryMs / 2 + (Math.random() * retryMs) / 2);
}
