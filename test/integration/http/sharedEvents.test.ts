/**
 * An event is executed and serialised once for all subscribers with the same question, and for no others.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parse, type GraphQLObjectType } from 'graphql';
import { WebSocket } from 'ws';
import { DomainError } from '../../../src/lib/errors.ts';
import { createSharedSubscribe, type EventLimits } from '../../../src/http/graphql/sharedEvents.ts';
import { createBuilder } from '../../../src/schema/core/createBuilder.ts';
import { startServer, token, type TestServer } from '../../support/http/httpServer.ts';

interface Event {
  number: number;
}

interface Message {
  type: string;
  id?: string;
  payload?: { data?: Record<string, unknown>; errors?: { extensions: Record<string, unknown> }[] };
}

/** Publishes to the sources of all subscriptions; each event is one object. */
let publish: (event: Event | null) => void;
let listening: () => number;
let executions: string[];
let server: TestServer;

beforeEach(async () => {
  const listeners = new Set<(event: Event | null) => void>();
  publish = (event) => {
    for (const listener of listeners) listener(event);
  };
  listening = () => listeners.size;
  executions = [];
  server = await startServer({ schema: schemaOf(listeners) });
});

afterEach(() => server.close(0));

it('runs once for all subscribers of one document and variables, each with its own id', async () => {
  const same = 'subscription Same { events { number seenBy } }';
  const sockets = await Promise.all([
    subscribe('one', { query: same }),
    subscribe('"two"', { query: same }),
    subscribe('three', { query: same }),
  ]);
  await waitUntil(() => listening() === 3);
  publish({ number: 7 });
  publish({ number: 8 });
  for (const [{ received }, id] of [
    [sockets[0], 'one'],
    [sockets[1], '"two"'],
    [sockets[2], 'three'],
  ] as const) {
    const messages = await received(2);
    expect(messages).toEqual([
      { id, type: 'next', payload: { data: { events: { number: 7, seenBy: null } } } },
      { id, type: 'next', payload: { data: { events: { number: 8, seenBy: null } } } },
    ]);
  }
  expect(executions).toEqual(['7', '8']);
});

it('runs for itself with another document, with other variables, and as another caller', async () => {
  const query = 'subscription S($more: Int) { events(more: $more) { number seenBy } }';
  const buyer = `Bearer ${await token(['buyer'])}`;
  const other = `Bearer ${await token(['buyer'], { subject: 'other' })}`;
  const sockets = await Promise.all([
    subscribe('1', { query, variables: { more: 1 } }),
    subscribe('2', { query, variables: { more: 2 } }),
    subscribe('3', { query: 'subscription { events { seenBy } }' }),
    subscribe('4', { query, variables: { more: 1 } }, buyer),
    subscribe('5', { query, variables: { more: 1 } }, other),
    subscribe('6', { query, variables: { more: 1 } }, buyer),
  ]);
  await waitUntil(() => listening() === 6);
  publish({ number: 1 });
  const seen = await Promise.all(
    sockets.map(async ({ received }) => (await received(1))[0]?.payload?.data?.['events']),
  );
  expect(seen).toEqual([
    { number: 1, seenBy: null },
    { number: 1, seenBy: null },
    { seenBy: null },
    { number: 1, seenBy: 'acme' },
    { number: 1, seenBy: 'other' },
    { number: 1, seenBy: 'acme' },
  ]);
  expect(executions).toHaveLength(5);
});

it('runs for each when it fails, so that each error is about its own request', async () => {
  const query = 'subscription { events { fails } }';
  const sockets = await Promise.all([subscribe('1', { query }), subscribe('2', { query })]);
  await waitUntil(() => listening() === 2);
  publish({ number: 1 });
  const ids = await Promise.all(
    sockets.map(async ({ received }) => {
      const [message] = await received(1);
      const [error] = message?.payload?.errors ?? [];
      expect(error?.extensions).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
      expect(error?.extensions).not.toHaveProperty('http');
      return error?.extensions['requestId'];
    }),
  );
  expect(new Set(ids).size).toBe(2);
});

const NO_LIMITS = { requireCpu: () => undefined, chargeCpu: () => undefined };

/** Runs one subscription with one event, whose text has `bytes` bytes. */
async function runOnce(
  bytes: number,
  limits: EventLimits,
  nowMs?: () => number,
): Promise<{ again: () => Promise<number> }> {
  const subscribeShared = createSharedSubscribe(limits, nowMs);
  const schema = schemaOf(new Set());
  const event: Event = { number: 1 };
  let runs = 0;
  Object.assign(schema.getSubscriptionType()?.getFields()['events'] ?? {}, {
    subscribe: async function* one() {
      yield event;
    },
    resolve: (source: Event) => {
      runs += 1;
      return source;
    },
  });
  Object.assign((schema.getType('Event') as GraphQLObjectType).getFields()['seenBy'] ?? {}, {
    resolve: () => 'x'.repeat(bytes),
  });
  const document = parse('subscription { events { seenBy } }');
  const read = async () => {
    const contextValue = { caller: null, remoteAddress: '192.0.2.1' };
    const result = await subscribeShared({ schema, document, contextValue });
    for await (const _ of result as AsyncIterable<unknown>);
    return runs;
  };
  await read();
  return { again: read };
}

it('is kept only while it is small, and ends when it is larger than an event may be', async () => {
  expect(await (await runOnce(100, NO_LIMITS)).again()).toBe(1);
  expect(await (await runOnce(100_000, NO_LIMITS)).again()).toBe(2);
  await expect(runOnce(2_000_000, NO_LIMITS)).rejects.toMatchObject({ code: 'OPERATION_TOO_LARGE' });
});

it('is forgotten soon after the delivery, so that a replay shows what has changed since', async () => {
  let nowMs = 0;
  const { again } = await runOnce(100, NO_LIMITS, () => nowMs);
  nowMs = 1_999;
  expect(await again()).toBe(1);
  nowMs = 2_001;
  expect(await again()).toBe(2);
  expect(await again()).toBe(2);
});

it('is charged to its address, and not run when that has used up its time', async () => {
  const charged: string[] = [];
  const limits = { ...NO_LIMITS, chargeCpu: (address: string) => void charged.push(address) };
  await runOnce(100, limits);
  expect(charged).toEqual(['192.0.2.1']);
  const requireCpu = () => {
    throw new DomainError('RATE_LIMITED', 'used up');
  };
  await expect(runOnce(100, { ...limits, requireCpu })).rejects.toMatchObject({ code: 'RATE_LIMITED' });
});

it('is executed for a few subscriptions of an address at a time, and holds up no other address', async () => {
  const subscribeShared = createSharedSubscribe(NO_LIMITS);
  const schema = schemaOf(new Set());
  let running = 0;
  let most = 0;
  let goOn = () => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  Object.assign(schema.getSubscriptionType()?.getFields()['events'] ?? {}, {
    // Each subscription has its own event object, as in replays, so none is shared.
    subscribe: async function* one() {
      yield { number: 1 };
    },
    resolve: async (event: Event) => {
      running += 1;
      most = Math.max(most, running);
      await held;
      running -= 1;
      return event;
    },
  });
  const document = parse('subscription { events { number } }');
  const read = async (remoteAddress: string) => {
    const contextValue = { caller: null, remoteAddress };
    const events = (await subscribeShared({ schema, document, contextValue })) as AsyncIterable<unknown>;
    for await (const event of events) return event;
    return undefined;
  };
  const ofOne = Array.from({ length: 20 }, () => read('192.0.2.1'));
  await waitUntil(() => running === 4);
  const ofOther = read('192.0.2.2');
  await waitUntil(() => running === 5);
  goOn();
  const expected = { data: { events: { number: 1 } } };
  expect(await Promise.all([...ofOne, ofOther])).toEqual(Array.from({ length: 21 }, () => expected));
  expect(most).toBe(5);
});

it('is remembered for the newest events alone', async () => {
  const subscribeShared = createSharedSubscribe(NO_LIMITS);
  const schema = schemaOf(new Set());
  let runs = 0;
  const field = schema.getSubscriptionType()?.getFields()['events'];
  const events: Event[] = Array.from({ length: 66 }, (_, number) => ({ number }));
  async function* all() {
    yield* [...events, events[65], events[0]];
  }
  Object.assign(field ?? {}, {
    subscribe: all,
    resolve: (event: Event) => {
      runs += 1;
      return event;
    },
  });
  const readAll = async () => {
    const document = parse('subscription { events { number } }');
    const result = await subscribeShared({
      schema,
      document,
      contextValue: { caller: null, remoteAddress: '192.0.2.1' },
    });
    for await (const _ of result as AsyncIterable<unknown>);
  };
  await readAll();
  // Event 65 again has a kept result; the first of the 66 was forgotten.
  expect(runs).toBe(67);
});

it('ends with its source, and with its client', async () => {
  const query = 'subscription { events { number } }';
  const [first, second] = await Promise.all([subscribe('1', { query }), subscribe('2', { query })]);
  await waitUntil(() => listening() === 2);
  first.say({ id: '1', type: 'complete' });
  await waitUntil(() => listening() === 1);
  publish({ number: 1 });
  publish(null);
  expect(await second.received(2)).toEqual([
    { id: '2', type: 'next', payload: { data: { events: { number: 1 } } } },
    { id: '2', type: 'complete' },
  ]);
  expect(first.messages).toEqual([]);
  await waitUntil(() => server.load().subscriptions === 0);
});

async function subscribe(id: string, payload: object, authorization?: string) {
  const socket = new WebSocket(server.wsUrl, 'graphql-transport-ws');
  const messages: Message[] = [];
  const say = (message: object) => socket.send(JSON.stringify(message));
  socket.on('open', () => say({ type: 'connection_init', payload: { authorization } }));
  await new Promise<void>((resolve, reject) => {
    socket.once('message', () => resolve());
    socket.once('error', reject);
  });
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString()) as Message));
  say({ id, type: 'subscribe', payload });
  return {
    messages,
    say,
    async received(count: number): Promise<Message[]> {
      await waitUntil(() => messages.length >= count);
      return messages;
    },
  };
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

function schemaOf(listeners: Set<(event: Event | null) => void>) {
  const builder = createBuilder<object>();
  const event = builder.objectRef<Event>('Event').implement({
    fields: (t) => ({
      number: t.exposeInt('number'),
      seenBy: t.string({
        nullable: true,
        resolve: ({ number }, _args, { caller }) => {
          executions.push(String(number));
          return caller?.subject ?? null;
        },
      }),
      fails: t.string({
        resolve: () => {
          throw new Error('a defect');
        },
      }),
    }),
  });
  builder.queryType({
    fields: (t) => ({ hello: t.string({ authScopes: { public: true }, resolve: () => 'world' }) }),
  });
  builder.subscriptionType({
    fields: (t) => ({
      events: t.field({
        type: event,
        args: { more: t.arg.int() },
        authScopes: { public: true },
        subscribe: () => source(listeners),
        resolve: (found: Event) => found,
      }),
    }),
  });
  return builder.toSchema();
}

/** A source that queues the events published since its start. */
function source(listeners: Set<(event: Event | null) => void>): AsyncIterableIterator<Event> {
  const queue: (Event | null)[] = [];
  let wake = () => {};
  const listen = (event: Event | null) => {
    queue.push(event);
    wake();
  };
  listeners.add(listen);
  const finished = { done: true as const, value: undefined };
  return {
    async next() {
      while (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      const event = queue.shift() ?? null;
      return event === null ? finished : { done: false, value: event };
    },
    async return() {
      listeners.delete(listen);
      listen(null);
      return finished;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
