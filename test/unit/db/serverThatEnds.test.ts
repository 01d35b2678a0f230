/**
 * A server that closes each connection at the first question, as a stopping server does: the caller gets an
 * error, and the process goes on.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { join } from '../../../src/db/embedded/presence.ts';
import { createClient } from '../../../src/db/client.ts';
import { ConnectionLost } from '../../../src/db/connectionLost.ts';
import { migrate } from '../../../src/db/migrate.ts';

/** AuthenticationOk, and ReadyForQuery outside a transaction. */
const WELCOME = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
/** CommandComplete, and ReadyForQuery outside a transaction. */
const DONE = Buffer.concat([
  Buffer.from([0x43, 0, 0, 0, 11]),
  Buffer.from('COMMIT\0'),
  Buffer.from([0x5a, 0, 0, 0, 5, 0x49]),
]);
/** Longer than the buffer that the driver fills before it writes. */
const LONG = `SELECT '${'x'.repeat(2_000)}'`;

let server: Server;
let url: string;
let unhandled: unknown[] = [];

const note = (reason: unknown) => {
  unhandled.push(reason);
};

beforeAll(async () => {
  server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(WELCOME);
      socket.once('data', () => socket.destroy());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `postgres://owner:secret@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`;
  process.on('unhandledRejection', note);
});
afterAll(() => {
  process.off('unhandledRejection', note);
  server.close();
});

it.each([
  ['that joins the users of the embedded PostgreSQL', () => join(url, async () => {})],
  ['that migrates', () => migrate(url, ['platform'])],
])('rejects for a program %s', async (_name, ask) => {
  unhandled = [];
  await expect(ask()).rejects.toThrow(/CONNECTION_CLOSED/);
  expect(unhandled).toEqual([]);
});

it('tells a statement that it meets a connection which is ending, and is not closed yet', async () => {
  const ending = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(WELCOME);
      socket.once('data', () => socket.end(DONE));
    });
  });
  ending.listen(0, '127.0.0.1');
  await once(ending, 'listening');
  const { port } = ending.address() as AddressInfo;
  let own: Socket | undefined;
  const notice = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    own = socket;
  };
  subscribe('net.client.socket', notice);
  const client = createClient(`postgres://owner:secret@127.0.0.1:${port}/postgres`, {});
  const ask = (text: string) => client.ask((sql) => sql.unsafe(text).simple(), 5_000);
  try {
    await ask('COMMIT');
    const failed = new Promise((resolve) => {
      // Node ends its side in the tick after this event. The driver writes a long statement at once.
      own?.once('end', () => process.nextTick(() => process.nextTick(() => ask(LONG).catch(resolve))));
    });
    expect(await failed).toBeInstanceOf(ConnectionLost);
  } finally {
    unsubscribe('net.client.socket', notice);
    client.lose(new Error('the test is over'));
    ending.close();
  }
});
