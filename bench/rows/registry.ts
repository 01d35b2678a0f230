/**
 * Reading a registry's whole history: when the platform has its records, and for the first time.
 */
import { createReads } from '../../src/ledger/network/embedded/reads.ts';
import { openDatabase } from '../../src/db/connection.ts';
import { MAX_REGISTRY_RECORDS } from '../../src/resolvers/carbon/readRegistry.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Bench } from '../bench.ts';
import type { Product } from '../product.ts';
import { sendRequests } from '../load/client.ts';
import { inTurns, median, type Row } from '../row.ts';
import { endow, openProject, retiring, type OpenProject } from './market.ts';

const DATABASE = 'registry';
/** Maximum number of records in one response. */
const RECORDS = MAX_REGISTRY_RECORDS;
const CONNECTIONS = 64;
/** Number of measured reads of the specification's loop; the others take as long each. */
const SAMPLE = 200;
const REPEATS = 40;
/** Seconds of a turn of retirements, which repeats until there are enough. */
const TURN_SECONDS = 10;
const DRAIN_SECONDS = 120;

const REGISTRY = `query Registry($tokenAddress: Address!) { registry(tokenAddress: $tokenAddress) {
  totalRetired totalRetirements records { index retiredBy amount tonnes timestamp beneficiary note txHash }
} }`;

export const registryRows: readonly Row[] = [
  {
    name: 'registry',
    group: 'Registry',
    title: 'a whole history, read again',
    unit: 'ms',
    baseline: 'sending the same bytes from memory',
    target: { atMost: 3 },
    async run(bench) {
      const product = await bench.product(DATABASE);
      const project = await makeHistory(bench, product);
      const body = await read(product, project);
      const raw = await bench.baseline('rawHttp');
      await fetch(`${raw.url}/keep`, { method: 'POST', body });
      const times = { product: [] as number[], baseline: [] as number[] };
      for (let i = 0; i < REPEATS; i++) {
        times.baseline.push(
          await timeMs(async () => (await fetch(`${raw.url}/kept`, { method: 'POST', body: '{}' })).text()),
        );
        times.product.push(await timeMs(() => read(product, project)));
      }
      const [ofProduct, ofBaseline] = [median(times.product), median(times.baseline)];
      return {
        ratio: ofProduct / ofBaseline,
        product: ofProduct,
        baseline: ofBaseline,
        details: { records: RECORDS, kB: body.length / 1024 },
      };
    },
  },
  {
    name: 'registry-first',
    group: 'Registry',
    title: 'a whole history, read for the first time',
    unit: 'ms',
    baseline: `the specification's loop, a read for each record, from ${SAMPLE} of its reads`,
    target: { atLeast: 100 },
    async run(bench) {
      const product = await bench.product(DATABASE);
      const project = await makeHistory(bench, product);
      return inTurns(bench, {
        baseline: async () => (await loopReadMs(bench, project)) * RECORDS,
        async product() {
          await forgetFeed(bench);
          return timeMs(() => read(product, project));
        },
        of: (ms) => 1 / ms,
      });
    },
  },
];

let made: Promise<OpenProject> | undefined;

/**
 * Makes the history once for both rows. The product makes the retirements, so that books and network agree.
 */
function makeHistory(bench: Bench, product: Product): Promise<OpenProject> {
  made ??= retireMany(bench, product);
  return made;
}

async function retireMany(bench: Bench, product: Product): Promise<OpenProject> {
  const project = await openProject(product);
  await endow(product, project, RECORDS);
  const job = await retiring(product, project);
  bench.say(`making ${RECORDS} retirements`);
  for (let retired = 0; retired < RECORDS;) {
    const { answered } = await sendRequests(bench, {
      ...job,
      connections: CONNECTIONS,
      seconds: TURN_SECONDS,
      drainSeconds: DRAIN_SECONDS,
      maxRequests: RECORDS - retired,
    });
    retired += answered;
    bench.say(`${retired} of ${RECORDS} retirements`);
  }
  return project;
}

async function read(product: Product, { tokenAddress }: OpenProject): Promise<string> {
  const response = await fetch(`${product.process.url}/graphql`, {
    method: 'POST',
    // The baseline does not compress, so both must send the same bytes.
    headers: { 'content-type': 'application/json', 'accept-encoding': 'identity' },
    body: JSON.stringify({ query: REGISTRY, variables: { tokenAddress } }),
  });
  const body = await response.text();
  if (!body.includes('"records":[{')) throw new Error(`the registry is ${body.slice(0, 500)}`);
  return body;
}

/** @returns the milliseconds of one read */
async function loopReadMs(bench: Bench, { tokenAddress }: OpenProject): Promise<number> {
  const handle = openDatabase({
    url: await bench.newDatabase(DATABASE),
    poolSize: 4,
    applicationName: 'bench',
  });
  try {
    const reads = createReads(handle.db, systemClock, '');
    const tookMs = await timeMs(async () => {
      for (let index = 0; index < SAMPLE; index++) await reads.retirementRecords(tokenAddress, index, 1);
    });
    return tookMs / SAMPLE;
  } finally {
    await handle.close();
  }
}

/** Forgets all records that the platform has seen. */
async function forgetFeed(bench: Bench): Promise<void> {
  await bench.sql(DATABASE).begin(async (tx) => {
    await tx`SET LOCAL session_replication_role = replica`;
    await tx`DELETE FROM retirement_records`;
    await tx`DELETE FROM retirement_totals`;
    await tx`UPDATE feed_head SET position = 0`;
  });
}

async function timeMs(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
