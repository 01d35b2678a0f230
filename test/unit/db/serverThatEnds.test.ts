/**
 * A server that ends with the first question, as one that is being stopped does: who asks is told, and the process goes on.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { join } from '../../../src/db/embedded/presence.ts';
import { migrate } from '../../../src/db/migrate.ts';

/** AuthenticationOk, and ReadyForQuery outside a transaction. */
const WELCOME = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

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
  ['that joins the users of the embedded PostgreSQL', () => join(url)],
  ['that migrates', () => migrate(url, ['platform'])],
])('rejects for a program %s', async (_name, ask) => {
  unhandled = [];
  await expect(ask()).rejects.toThrow(/CONNECTION_CLOSED/);
  expect(unhandled).toEqual([]);
});
