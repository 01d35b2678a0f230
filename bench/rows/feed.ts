/**
 * Delivery of one retirement to every subscriber of the feed, against ws that sends the same text to every
 * socket.
 */
import type { Bench } from '../bench.ts';
import type { FeedArrival, FeedJob } from '../load/messages.ts';
import { cpuMsOf, residentMbOf } from '../processes.ts';
import type { Product } from '../product.ts';
import { limitRow, median, middleOf, takeTurns, type Round, type Row } from '../row.ts';
import { openProject, PURCHASE, RETIRE, uniqueKey, type OpenProject } from './market.ts';

/** Minimum for each measurement: the processor time of one event varies by half. */
const MIN_EVENTS = 30;
const MIN_SENT = 60_000;
/**
 * Higher, so that each measurement contains a garbage collection, which takes as long as ten events to a
 * thousand subscribers.
 */
const MIN_SENT_IN_BURSTS = 120_000;
/**
 * Events published at once while processor time is measured. A retirement alone costs as much as sending to a
 * thousand subscribers, give or take a third: after its subtraction, the result would be its noise. In groups
 * of eight, each retirement costs a third.
 */
const BURST = 8;
const BUYER = 'feed-buyer';
const MEMORY_LIMIT_MB = 350;
const RECONNECT_LIMIT_S = 10;
const MANY = 10_000;

const FEED = `subscription Feed($after: String) { retirementFeed(after: $after) {
  cursor record { tokenAddress index retiredBy amount tonnes timestamp beneficiary note txHash }
} }`;
const CURSOR = '{ retirementFeedCursor }';

export const feedRows: readonly Row[] = [
  ...fanOut(1_000),
  ...fanOut(5_000),
  limitRow({
    name: 'feed-memory',
    group: 'Feed',
    title: `memory with ${MANY.toLocaleString('en')} subscribers`,
    unit: 'MB',
    limit: MEMORY_LIMIT_MB,
    async measure(bench) {
      const product = await bench.anotherProduct('feed');
      const project = await startSelling(product);
      const beforeMb = await residentMbOf(product.process);
      bench.say(`opening ${MANY} sockets`);
      await bench.load.call('openFeed', subscribers(product, MANY, null));
      await retire(product, project);
      await bench.load.call('awaitFeed', { events: 1 });
      const afterMb = await residentMbOf(product.process);
      await bench.load.call('closeFeed', {});
      await product.stop();
      return {
        value: afterMb,
        details: { 'MB without subscribers': beforeMb, 'kB each': ((afterMb - beforeMb) / MANY) * 1024 },
      };
    },
  }),
  limitRow({
    name: 'feed-reconnect',
    group: 'Feed',
    title: `${MANY.toLocaleString('en')} reconnect and catch up`,
    unit: 's',
    limit: RECONNECT_LIMIT_S,
    async measure(bench) {
      const product = await bench.anotherProduct('feed');
      const project = await startSelling(product);
      const { retirementFeedCursor: after } = await product.ask<{ retirementFeedCursor: string }>(CURSOR, {});
      await retire(product, project);
      bench.say(`${MANY} sockets connect and catch up`);
      const startedMs = performance.timeOrigin + performance.now();
      await bench.load.call('openFeed', subscribers(product, MANY, after));
      const { arrivals } = await bench.load.call('awaitFeed', { events: 1 });
      await bench.load.call('closeFeed', {});
      await product.stop();
      return { value: ((arrivals[0]?.lastMs ?? Number.NaN) - startedMs) / 1000 };
    },
  }),
];

interface FanOut {
  /** Time from the first subscriber to the last, as the median of the events. */
  spreadMs: number;
  /** Processor time of the server for each event, less the time with one subscriber. */
  cpuMs: number;
}

/** Returns two rows that share one measurement. */
function fanOut(count: number): Row[] {
  let taken: Promise<Round<FanOut>[]> | undefined;
  const rounds = (bench: Bench) => (taken ??= measureFanOut(bench, count));
  const shared = {
    group: 'Feed',
    baseline: 'ws that sends the same text to every socket',
    target: { atMost: 1.2 },
  };
  return [
    {
      ...shared,
      name: `feed-${count}`,
      title: `${count.toLocaleString('en')} subscribers`,
      unit: 'ms to the last',
      async run(bench) {
        const { ratio, product, baseline } = middleOf(await rounds(bench), ({ spreadMs }) => spreadMs);
        const details = { 'MB resident': await residentMbOf((await bench.product()).process) };
        return { ratio, product: product.spreadMs, baseline: baseline.spreadMs, details };
      },
    },
    {
      ...shared,
      name: `feed-${count}-cpu`,
      title: `${count.toLocaleString('en')} subscribers, processor time, ${BURST} events at once`,
      unit: 'ms an event',
      async run(bench) {
        const { ratio, product, baseline } = middleOf(await rounds(bench), ({ cpuMs }) => cpuMs);
        return { ratio, product: product.cpuMs, baseline: baseline.cpuMs };
      },
    },
  ];
}

async function measureFanOut(bench: Bench, count: number): Promise<Round<FanOut>[]> {
  const product = await bench.product();
  const project = await startSelling(product);
  await retire(product, project);
  const raw = await bench.baseline('rawWebsockets');
  const event = await sampleEvent(bench);
  const publish = async () => {
    await fetch(raw.url, { method: 'POST', body: event });
  };
  const rawJob = (sockets: number) => ({ port: raw.port, path: '/', sockets, subscription: null });
  const job = (sockets: number) => subscribers(product, sockets, null);
  return takeTurns(bench, {
    product: () => measure(bench, count, { server: product, job, publish: () => retire(product, project) }),
    baseline: () => measure(bench, count, { server: { process: raw }, job: rawJob, publish }),
  });
}

interface FeedServer {
  server: Pick<Product, 'process'>;
  job(sockets: number): FeedJob;
  publish(): Promise<void>;
}

/**
 * The processor time excludes the retirement itself: it is the part that all subscribers but the first add.
 */
async function measure(
  { load }: Bench,
  count: number,
  { server, job, publish }: FeedServer,
): Promise<FanOut> {
  const events = Math.max(MIN_EVENTS, MIN_SENT / count);
  const bursts = Math.ceil(MIN_SENT_IN_BURSTS / count / BURST);
  const following = async <T>(sockets: number, work: () => Promise<T>): Promise<T> => {
    await load.call('openFeed', job(sockets));
    const result = await work();
    await load.call('closeFeed', {});
    return result;
  };
  const cpuOfBursts = () =>
    cpuOf(server, () =>
      repeat(bursts, async () => {
        await Promise.all(Array.from({ length: BURST }, publish));
        await load.call('awaitFeed', { events: BURST });
      }),
    );
  const spreadOfSingles = async () => {
    const arrivals: FeedArrival[] = [];
    await repeat(events, async () => {
      await publish();
      arrivals.push(...(await load.call('awaitFeed', { events: 1 })).arrivals);
    });
    return median(arrivals.map(({ firstMs, lastMs }) => lastMs - firstMs));
  };
  const cpuOfOneMs = await following(1, cpuOfBursts);
  return following(count, async () => ({
    spreadMs: await spreadOfSingles(),
    cpuMs: Math.max((await cpuOfBursts()) - cpuOfOneMs, 0) / (bursts * BURST),
  }));
}

async function cpuOf(server: Pick<Product, 'process'>, work: () => Promise<void>): Promise<number> {
  const beforeMs = await cpuMsOf(server.process);
  await work();
  return (await cpuMsOf(server.process)) - beforeMs;
}

async function repeat(times: number, work: () => Promise<void>): Promise<void> {
  for (let i = 0; i < times; i++) await work();
}

function subscribers({ port }: Product, sockets: number, after: string | null): FeedJob {
  const payload = { query: FEED, variables: { after } };
  return {
    port,
    path: '/graphql',
    sockets,
    subscription: {
      protocol: 'graphql-transport-ws',
      init: JSON.stringify({ type: 'connection_init' }),
      subscribe: JSON.stringify({ id: crypto.randomUUID(), type: 'subscribe', payload }),
    },
  };
}

async function startSelling(product: Product): Promise<OpenProject> {
  const project = await openProject(product);
  const { tokenAddress } = project;
  const input = { buyerId: BUYER, tokenAddress, amountCO2e: 1_000_000, idempotencyKey: uniqueKey() };
  await product.ask(PURCHASE, { input }, ['buyer', BUYER]);
  return project;
}

async function retire(product: Product, { tokenAddress }: OpenProject): Promise<void> {
  const about = { buyerId: BUYER, buyerName: 'Bench Ltd', tokenAddress, amountCO2e: 1 };
  const input = { ...about, note: 'measured', idempotencyKey: uniqueKey() };
  await product.ask(RETIRE, { input }, ['buyer', BUYER]);
}

/** Returns an event as long as the product's. */
async function sampleEvent(bench: Bench): Promise<string> {
  const [record] = await bench.sql('marketplace')`
    SELECT position || '.00000000' AS cursor, token_address AS "tokenAddress", index, retired_by AS "retiredBy",
      amount_base_units::text AS amount, '1' AS tonnes,
      timestamp::text, beneficiary, note, tx_hash AS "txHash" FROM retirement_records ORDER BY position DESC LIMIT 1`;
  const { cursor, ...rest } = record ?? {};
  const data = { retirementFeed: { cursor: String(cursor), record: rest } };
  return JSON.stringify({ id: crypto.randomUUID(), type: 'next', payload: { data } });
}
