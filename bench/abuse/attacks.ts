/**
 * The attacks of a stranger on the server. Each runs in this process until `signal` aborts.
 */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { getIntrospectionQuery } from 'graphql';
import { WebSocket } from 'ws';

interface Attack {
  name: string;
  run(url: string, signal: AbortSignal): Promise<void>;
}

/** Pause of a refused client. Without it, the attacker would only load itself. */
const AGAIN_AFTER_MS = 50;
const SENDERS = 8;

const subscribe = (id: number, query: string) =>
  JSON.stringify({ id: String(id), type: 'subscribe', payload: { query } });

export const ATTACKS: readonly Attack[] = [
  { name: 'nothing', run: async (_url, signal) => aborted(signal) },
  socketFlood('10,000 subscribe messages at once, again and again', (socket) => {
    for (let i = 0; i < 10_000; i++) socket.send(subscribe(i, 'subscription { retirementFeed { cursor } }'));
  }),
  socketFlood('1,500 pings a second', async (socket, signal) => {
    while (!signal.aborted && socket.readyState === socket.OPEN) {
      for (let i = 0; i < 150; i++) socket.ping();
      await delay(100);
    }
  }),
  socketFlood('a hundred subscriptions, never read', async (socket, signal) => {
    for (let i = 0; i < 100; i++) socket.send(subscribe(i, 'subscription { retirementFeed { cursor } }'));
    socket.pause();
    await aborted(signal);
  }),
  requestFlood('documents that are new each time', (i) => {
    const fields = Array.from({ length: 48 }, (_, k) => `a${i}_${k}: ledgerNetwork { latestLedger }`);
    return `query q${i} { ${fields.join(' ')} }`;
  }),
  requestFlood('forty thousand empty lines and a hundred errors', (i) => {
    return `query q${i} { ${'\n'.repeat(44_000)} ${Array.from({ length: 400 }, (_, k) => `nope${k}`).join(' ')} }`;
  }),
  requestFlood('48 nested introspections in one document', (i) => {
    const nested = '__schema { types { fields { type { fields { type { fields { type { name } } } } } } } }';
    return `query q${i} { ${Array.from({ length: 48 }, (_, k) => `a${k}: ${nested}`).join(' ')} }`;
  }),
  requestFlood("the tools' introspection, again and again", () => getIntrospectionQuery()),
  requestFlood('fifty mutations without a token in each request', () => {
    const input = '{ buyerId: "acme", tokenAddress: "x", amountCO2e: 1, idempotencyKey: "k" }';
    return `mutation { ${Array.from({ length: 50 }, (_, k) => `a${k}: purchase(input: ${input}) { purchase { id } }`).join(' ')} }`;
  }),
  requestFlood(
    'a known query with 15,000 values in a list',
    () => 'query ($f: ProjectFilter) { projects(filter: $f) { nodes { id } } }',
    { variables: { f: { countryCodes: Array.from({ length: 15_000 }, () => 'DE') } } },
  ),
  requestFlood('a known query on 400 connections', () => '{ projects(first: 5) { nodes { id } } }', {
    senders: 400,
  }),
  {
    name: 'the home page on 100 connections',
    run: (url, signal) => endlessly(signal, () => read(new URL('/', url), { signal }), 100),
  },
  {
    name: 'pipelined requests without end on 20 connections',
    run: (url, signal) => endlessly(signal, () => pipeline(new URL(url), signal), 20),
  },
  {
    name: 'forged deliveries to the hooks',
    run: (url, signal) =>
      endlessly(signal, async () => {
        const headers = { 'x-service-signature': `sha256=${'0'.repeat(64)}` };
        const body = 'x'.repeat(200_000);
        await read(new URL('/api/hooks/retirements', url), { method: 'POST', headers, body, signal });
      }),
  },
];

function socketFlood(
  name: string,
  flood: (socket: WebSocket, signal: AbortSignal) => void | Promise<void>,
): Attack {
  const once = (url: string, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const socket = new WebSocket(url.replace(/^http/, 'ws'), 'graphql-transport-ws');
      const end = () => socket.terminate();
      signal.addEventListener('abort', end, { once: true });
      socket.on('error', () => undefined);
      socket.once('close', () => {
        signal.removeEventListener('abort', end);
        resolve();
      });
      socket.once('open', () => {
        socket.send('{"type":"connection_init"}');
        void flood(socket, signal);
      });
    });
  return { name, run: (url, signal) => endlessly(signal, () => once(url, signal), 1) };
}

function requestFlood(
  name: string,
  queryOf: (i: number) => string,
  { variables, senders = SENDERS }: { variables?: Record<string, unknown>; senders?: number } = {},
): Attack {
  return {
    name,
    run(url, signal) {
      let sent = 0;
      return endlessly(
        signal,
        async () => {
          const body = JSON.stringify({ query: queryOf(sent++), variables });
          await read(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal });
        },
        senders,
      );
    },
  };
}

/** Sends as fast as the socket accepts data, without waiting for responses, until the server closes it. */
function pipeline({ hostname, port }: URL, signal: AbortSignal): Promise<void> {
  const request = 'GET /healthz HTTP/1.1\r\nhost: shop\r\n\r\n'.repeat(1_000);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const end = () => socket.destroy();
    const send = () => {
      while (!socket.destroyed && socket.write(request));
    };
    signal.addEventListener('abort', end, { once: true });
    socket.on('connect', send).on('drain', send).on('error', end).resume();
    socket.once('close', () => {
      signal.removeEventListener('abort', end);
      void delay(AGAIN_AFTER_MS).then(resolve);
    });
  });
}

async function read(url: string | URL, init: RequestInit): Promise<void> {
  const response = await fetch(url, init);
  await response.arrayBuffer();
  if (!response.ok) await delay(AGAIN_AFTER_MS);
}

async function endlessly(signal: AbortSignal, step: () => Promise<void>, senders = SENDERS): Promise<void> {
  const sender = async () => {
    while (!signal.aborted) await step().catch(() => delay(AGAIN_AFTER_MS));
  };
  await Promise.all(Array.from({ length: senders }, sender));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
