/**
 * The stop of the HTTP server: requests under way are answered, and so are requests that arrive meanwhile.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import type { HookDelivery } from '../../../src/http/server/hooks.ts';
import { startServer, until } from '../../support/http/httpServer.ts';

const GRACE_MS = 60_000;
const DELIVERIES = '/api/hooks/retirements';

/** A server that answers a delivery when the test says so. */
async function startSlowServer() {
  const running = new Map<string, () => void>();
  const retirements = ({ body }: HookDelivery) =>
    new Promise<undefined>((resolve) => void running.set(body.toString(), () => resolve(undefined)));
  const server = await startServer({ hooks: { retirements, payoutSettled: async () => undefined } });
  const answer = async (name: string) => {
    await until(() => running.has(name));
    running.get(name)?.();
  };
  return { ...server, answer, hasBegun: (name: string) => until(() => running.has(name)) };
}

async function open(port: number) {
  const socket = connect({ port, host: '127.0.0.1' });
  const closed = once(socket, 'close');
  const client = {
    text: '',
    closed,
    begin: (path: string) => void socket.write(`POST ${path} HTTP/1.1\r\n`),
    finish: (body: string) =>
      void socket.write(
        `host: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      ),
    deliver: (name: string) => {
      client.begin(DELIVERIES);
      client.finish(name);
    },
    /** The connection header of each answer. */
    connections: () =>
      [...client.text.matchAll(/^HTTP\/1.1 200 OK\r\n(?:.+\r\n)*?connection: (\S+)\r\n/gim)].map(
        ([, says]) => says,
      ),
  };
  socket.on('data', (chunk: Buffer) => (client.text += chunk.toString()));
  await once(socket, 'connect');
  return client;
}

it('says in the answers that began before it that their connections end', async () => {
  const { port, answer, hasBegun, close } = await startSlowServer();
  const client = await open(port);
  client.deliver('first');
  await hasBegun('first');
  const stopped = close(GRACE_MS);
  await answer('first');
  await expect.poll(() => client.connections()).toEqual(['close']);
  await client.closed;
  await stopped;
});

it('awaits the answers to what comes while it waits for others', async () => {
  const { port, answer, hasBegun, close, post } = await startSlowServer();
  await post({ query: '{ hello }' });
  // A connection with a part of a request is not idle. Newer versions of Node close those that sent nothing.
  const second = await open(port);
  second.begin(DELIVERIES);
  const third = await open(port);
  third.begin('/graphql');
  const first = await open(port);
  first.deliver('first');
  await hasBegun('first');
  const stopped = close(GRACE_MS);
  second.finish('second');
  await hasBegun('second');
  third.finish('{"query":"{ hello }"}');
  await third.closed;
  await answer('first');
  await first.closed;
  await answer('second');
  await second.closed;
  await stopped;
  for (const { connections } of [second, third, first]) expect(connections()).toEqual(['close']);
});

it('answers all that a client has sent ahead, and says with the last one that there is no more', async () => {
  const { port, answer, hasBegun, load, close } = await startSlowServer();
  const client = await open(port);
  client.deliver('first');
  await hasBegun('first');
  const stopped = close(GRACE_MS);
  client.deliver('second');
  client.deliver('third');
  await until(() => load().unfinishedRequests === 3);
  for (const name of ['third', 'second', 'first']) await answer(name);
  await client.closed;
  await stopped;
  expect(client.connections()).toEqual(['keep-alive', 'keep-alive', 'close']);
});

it('waits no longer than it may', async () => {
  const { port, hasBegun, close } = await startSlowServer();
  const client = await open(port);
  client.deliver('first');
  await hasBegun('first');
  await close(50);
  await client.closed;
  expect(client.text).toBe('');
});
