/**
 * `npm run bench:retirements`: how many retirements a second the product carries to a network, against a plain loop
 * over the same adapter that awaits each write before it begins the next one. Both on the same node, one after the
 * other; at the end every retirement has its record, and books and network agree.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SingleBar } from 'cli-progress';
import { Command, InvalidArgumentError, Option } from 'commander';
import pLimit from 'p-limit';
import pc from 'picocolors';
import { audit } from '../src/audit/audit.ts';
import { runCommand } from '../src/cli/runCommand.ts';
import { composePlatform, type Platform } from '../src/compose.ts';
import { openDatabase } from '../src/db/connection.ts';
import { openEmbeddedPostgres } from '../src/db/embedded/embeddedPostgres.ts';
import { migrate } from '../src/db/migrate.ts';
import { purchase } from '../src/resolvers/purchase.ts';
import { retire } from '../src/resolvers/retire.ts';
import { connectLedger } from '../test/harness/ledgers.ts';
import { openProject, silentLog } from '../test/harness/platform.ts';
import { warehouseOptions } from '../test/harness/warehouse.ts';
import { runPlainLoop } from './plainLoop.ts';
import { startBenchWorld, WORLDS, type BenchWorld } from './worlds.ts';

interface Options {
  network: BenchWorld;
  count: number;
  plain: number;
  blockSeconds: number;
  channels: number;
}

/** As many as a busy afternoon's clients have under way. */
const CLIENTS = 200;
/** All of them end within this, or the benchmark fails. */
const PATIENCE_MS = 30 * 60_000;
const BUYER = 'bench-buyer';

const positive = (text: string): number => {
  const number = Number(text);
  if (!(number > 0)) throw new InvalidArgumentError('must be a number above 0');
  return number;
};

const command = new Command('bench:retirements')
  .description('Retirements a second through the product, against a plain loop that awaits each write.')
  .addOption(new Option('--network <name>', 'the network').choices(WORLDS).default('evm'))
  .addOption(new Option('--count <n>', 'retirements through the product').argParser(positive).default(1000))
  .addOption(new Option('--plain <n>', 'writes of the plain loop').argParser(positive).default(20))
  .addOption(new Option('--block-seconds <s>', 'between two ledgers').argParser(positive).default(1))
  .addOption(new Option('--channels <n>', 'channel accounts (Stellar)').argParser(positive).default(20))
  .action(run);

await runCommand(command);

async function run(options: Options): Promise<void> {
  const world = await startBenchWorld(options.network, options);
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  const postgres = await openEmbeddedPostgres({ dataDir: folder, password: randomUUID() });
  await migrate(postgres.url, ['platform', 'embedded-network']);
  const handle = openDatabase({ url: postgres.url, poolSize: 20, applicationName: 'bench' });
  try {
    const network = await connectLedger(world.ledger, handle);
    const plain = await runPlainLoop(network, options.plain, showProgress('plain loop'));
    const platform = await composePlatform({
      handle,
      network,
      indexerUrl: 'http://127.0.0.1:9',
      publicUrl: 'http://127.0.0.1:9',
      appSecret: randomBytes(32).toString('base64'),
      mutationWaitMs: PATIENCE_MS,
      healIntervalMs: 60_000,
      ...warehouseOptions,
      log: silentLog,
    });
    await platform.start();
    try {
      report(options, plain, await runProduct(platform, options.count));
    } finally {
      await platform.stop();
    }
  } finally {
    await handle.close();
    await postgres.stop();
    await world.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns retirements a second, from the first request to the last settled answer. */
async function runProduct(platform: Platform, count: number): Promise<number> {
  const { dependencies } = platform;
  const project = await openProject(platform, BigInt(count));
  const { tokenAddress } = project;
  const owned = { buyerId: BUYER, tokenAddress, amountCO2e: BigInt(count), idempotencyKey: randomUUID() };
  await purchase(dependencies, BUYER, owned);
  const clients = pLimit(CLIENTS);
  const progress = showProgress('product')(count);
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: count }, (_, number) =>
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
        progress.increment();
      }),
    ),
  );
  const perSecond = count / ((performance.now() - startedMs) / 1000);
  progress.stop();
  await proveRecords(platform, tokenAddress, count);
  return perSecond;
}

async function proveRecords({ dependencies }: Platform, tokenAddress: string, count: number): Promise<void> {
  const { totalRetirements } = await dependencies.network.carbonTotals(tokenAddress);
  if (totalRetirements !== count)
    throw new Error(`${count} were retired, the token has ${totalRetirements} records`);
  const { findings, unsettledProjects } = await audit(dependencies);
  if (findings.length > 0 || unsettledProjects > 0) {
    throw new Error(
      `the audit found: ${findings.map(({ message }) => message).join('; ') || 'work under way'}`,
    );
  }
}

function showProgress(name: string): (total: number) => SingleBar {
  return (total) => {
    const format = `${name.padEnd(10)} {bar} {value}/{total}  {duration_formatted}`;
    const bar = new SingleBar({ format, noTTYOutput: true, notTTYSchedule: 5000 });
    bar.start(total, 0);
    return bar;
  };
}

function report(options: Options, plain: number, product: number): void {
  const rows: [string, number][] = [
    ['plain loop, awaits each write', plain],
    ['product', product],
  ];
  const widest = Math.max(plain, product);
  const { network, count, blockSeconds } = options;
  const lines = rows.map(([name, perSecond]) => {
    const bar = '█'.repeat(Math.max(1, Math.round((perSecond / widest) * 40)));
    return `${name.padEnd(30)} ${pc.cyan(bar)} ${perSecond.toFixed(2)}/s`;
  });
  process.stdout.write(
    `\n${pc.bold(`${count} retirements on ${network}, a ledger every ${blockSeconds} s`)}\n${lines.join('\n')}\n` +
      `${pc.green(`${(product / plain).toFixed(1)} times the plain loop`)}; ` +
      `${count} records, each matched; the audit found nothing.\n`,
  );
}
