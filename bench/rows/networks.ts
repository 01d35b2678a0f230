/**
 * Retirements through the product on networks whose ledgers close at an interval. The baselines are a loop
 * over the same adapter that awaits each write, and the number that the channels could land. At the end every
 * retirement has its record, and books and network agree.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { isNotNull } from 'drizzle-orm';
import pLimit from 'p-limit';
import { connectLedger } from '../../devnet/ledgers.ts';
import { openProject, silentLog, warehouseOptions } from '../../devnet/platform.ts';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import { migrate } from '../../src/db/migrate.ts';
import { attempts } from '../../src/db/tables/index.ts';
import type { LedgerNetwork } from '../../src/ledger/network/port.ts';
import { reconcileAll } from '../../src/reconciliation/reconcileAll.ts';
import { purchase } from '../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../src/resolvers/carbon/retire.ts';
import { composePlatform, type Platform } from '../../src/startup/compose.ts';
import { runPlainLoop } from '../baselines/plainLoop.ts';
import type { Bench } from '../bench.ts';
import { BLOCK_SECONDS, CHANNELS } from '../pace.ts';
import type { Outcome, Row } from '../row.ts';
import { startBenchWorld, type BenchWorld } from '../worlds.ts';

const RETIREMENTS = 600;
const PLAIN_WRITES = 8;
/** Number of concurrent clients, as at a busy time. */
const CLIENTS = 200;
/** The row fails when one retirement takes longer. */
const PATIENCE_MS = 10 * 60_000;
const BUYER = 'bench-buyer';

const FULL_RETIREMENTS = 1_000;

export const networkRows: readonly Row[] = [
  row('evm', 'an EVM chain'),
  row('stellar', 'the Stellar devnet'),
  {
    name: 'stellar-ledgers',
    group: 'Networks',
    title: `${FULL_RETIREMENTS} retirements through ${CHANNELS} channels, a ledger every ${BLOCK_SECONDS} s`,
    unit: '/ledger',
    baseline: 'one transaction of each channel in each ledger that closed meanwhile',
    target: { atLeast: 0.9 },
    run: (bench) =>
      onNetwork(bench, 'stellar', 'stellar_ledgers', async (network, handle) => {
        const { ledgers } = await withPlatform(handle, network, (platform) =>
          runProduct(platform, FULL_RETIREMENTS),
        );
        const failedLandings = await handle.db.$count(attempts, isNotNull(attempts.cause));
        const product = FULL_RETIREMENTS / ledgers;
        return {
          ratio: product / CHANNELS,
          product,
          baseline: CHANNELS,
          details: { ledgers, failedLandings },
        };
      }),
  },
];

async function onNetwork(
  bench: Bench,
  name: BenchWorld,
  database: string,
  measure: (network: LedgerNetwork, handle: DatabaseHandle) => Promise<Outcome>,
): Promise<Outcome> {
  const world = await startBenchWorld(name);
  const url = await bench.newDatabase(database);
  await migrate(url, ['platform']);
  const handle = openDatabase({ url, poolSize: 20, applicationName: 'bench' });
  try {
    return await measure(await connectLedger(world.ledger, handle), handle);
  } finally {
    await handle.close();
    await world.close();
  }
}

function row(name: BenchWorld, title: string): Row {
  return {
    name,
    group: 'Networks',
    title: `retirements on ${title}, a ledger every ${BLOCK_SECONDS} s`,
    unit: '/s',
    baseline: 'a loop over the same adapter that awaits each write, without books',
    target: { atLeast: 20 },
    run: (bench) =>
      onNetwork(bench, name, name, async (network, handle) => {
        bench.say('the loop');
        const plain = await runPlainLoop(network, PLAIN_WRITES);
        bench.say('the product');
        const { perSecond: product } = await withPlatform(handle, network, (platform) =>
          runProduct(platform, RETIREMENTS),
        );
        const slots = slotsOf(network);
        return {
          ratio: product / plain,
          product,
          baseline: plain,
          details: {
            retirements: RETIREMENTS,
            slots,
            'share of slots × ledgers': (product * BLOCK_SECONDS) / slots,
          },
        };
      }),
  };
}

/** Maximum number of open transactions. */
function slotsOf({ signingOrder }: LedgerNetwork): number {
  return signingOrder === null ? Infinity : signingOrder.accounts.length * signingOrder.maxOpenPerAccount;
}

async function withPlatform<T>(
  handle: DatabaseHandle,
  network: LedgerNetwork,
  work: (platform: Platform) => Promise<T>,
): Promise<T> {
  const platform = await composePlatform({
    handle,
    network,
    indexerUrl: null,
    publicUrl: 'http://127.0.0.1:9',
    appSecret: randomBytes(32).toString('base64'),
    mutationWaitMs: PATIENCE_MS,
    feedCompareIntervalMs: 60_000,
    ...warehouseOptions,
    log: silentLog,
  });
  await platform.start();
  try {
    return await work(platform);
  } finally {
    await platform.stop();
  }
}

/**
 * @returns retirements a second, and the number of ledgers that closed, from the first request to the last
 *   settled retirement
 */
async function runProduct(
  platform: Platform,
  retirements: number,
): Promise<{ perSecond: number; ledgers: number }> {
  const { dependencies } = platform;
  const { network } = dependencies;
  const { tokenAddress } = await openProject(platform, BigInt(retirements));
  const owned = {
    buyerId: BUYER,
    tokenAddress,
    amountCO2e: BigInt(retirements),
    idempotencyKey: randomUUID(),
  };
  await purchase(dependencies, BUYER, owned);
  const clients = pLimit(CLIENTS);
  const { ledger: firstLedger } = await network.status();
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: retirements }, (_, number) =>
      clients(async () => {
        const retirement = await retire(dependencies, BUYER, {
          buyerId: BUYER,
          buyerName: 'Bench Ltd',
          tokenAddress,
          amountCO2e: 1n,
          note: `#${number}`,
          idempotencyKey: randomUUID(),
        });
        if (retirement.state !== 'RETIRED') throw new Error(`#${number} is ${retirement.state}`);
      }),
    ),
  );
  const perSecond = retirements / ((performance.now() - startedMs) / 1000);
  const { ledger: lastLedger } = await network.status();
  await proveRecords(platform, tokenAddress, retirements);
  return { perSecond, ledgers: Number(lastLedger - firstLedger) };
}

async function proveRecords(
  { dependencies }: Platform,
  tokenAddress: string,
  retirements: number,
): Promise<void> {
  const { totalRetirements } = await dependencies.network.carbonTotals(tokenAddress);
  if (totalRetirements !== retirements)
    throw new Error(`${retirements} were retired, the token has ${totalRetirements} records`);
  const { findings, unsettledProjects } = await reconcileAll(dependencies);
  if (findings.length > 0 || unsettledProjects > 0) {
    throw new Error(
      `the reconciliation found: ${findings.map(({ message }) => message).join('; ') || 'work under way'}`,
    );
  }
}
