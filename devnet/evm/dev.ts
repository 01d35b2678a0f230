/**
 * `npm run dev:evm`: the whole product on a real EVM chain of this machine's own.
 *
 *   anvil, a block a second ──▶ test contracts ──▶ indexer double ──▶ empty database ──▶ server
 *
 * Chain and database are new at each start: books of a chain that is gone are of no use. Their files are in
 * DATA_DIR/evm-<port of the node>, which belongs to the process that holds that port. The secrets are those of
 * DATA_DIR, so `npm run demo` and `npm run token` need no settings.
 */
import { constants } from 'node:fs';
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import pc from 'picocolors';
import postgres from 'postgres';
import { loadConfig, readEnvironment } from '../../src/config/config.ts';
import type { Config } from '../../src/config/config.ts';
import { openEmbeddedPostgres } from '../../src/db/embedded/embeddedPostgres.ts';
import { checkPort } from '../../src/http/server/checkPort.ts';
import { LEDGER_SETTINGS } from '../../src/config/ledgerSettings.ts';
import { createLogger } from '../../src/lib/logger.ts';
import type { Logger } from '../../src/lib/logger.ts';
import { runProcess, runUntilStopped } from '../../src/startup/runProcess.ts';
import type { Stops } from '../../src/startup/runProcess.ts';
import { serve } from '../../src/startup/serve.ts';
import { StartupError } from '../../src/lib/startupErrors.ts';
import { isPortTaken, startAnvil } from './anvil.ts';
import type { Anvil, AnvilAccount } from './anvil.ts';
import { deployContracts } from './deploy.ts';
import type { DeployedContracts } from './deploy.ts';
import { startEvmIndexer } from './indexer.ts';

/** The port where wallets look for a local node. */
const DEFAULT_RPC_PORT = 8545;
const SECONDS_PER_BLOCK = 1;
/** This chain has no reorganisations. LEDGER_FINALITY=finalized tries waiting for finality. */
const DEFAULT_CONFIRMATIONS = '0';
/** The `finalized` block is two behind the latest: with a third one, it too has the new time. */
const BLOCKS_UNTIL_FINAL = 3;

const command = new Command('dev:evm')
  .description(
    'Starts an EVM node, deploys the contracts, and runs the server on them. Ctrl-C ends all of it.',
  )
  .option('--rpc-port <port>', "the node's port", parsePort, DEFAULT_RPC_PORT)
  .action(async (options: { rpcPort: number }) => {
    const environment = readEnvironment();
    if (environment['NODE_ENV'] === 'production') {
      throw new StartupError('dev:evm uses publicly known keys, so it never runs with NODE_ENV=production.');
    }
    const config = await loadConfig({ ...environment, ...withoutOutside() });
    const log = createLogger({ level: config.LOG_LEVEL, pretty: process.stdout.isTTY });
    await runUntilStopped(log, (stops) => start({ environment, config, log, stops, ...options }));
  });

await runProcess(async () => void (await command.parseAsync()));

async function start(options: {
  environment: NodeJS.Dict<string>;
  /** Of this machine's embedded network: whose folder and secrets are used. */
  config: Config;
  log: Logger;
  stops: Stops;
  rpcPort: number;
}): Promise<void> {
  const { environment, log, stops, rpcPort } = options;
  const node = await openNode(rpcPort);
  stops.push(node.stop);
  await checkPort(options.config.PORT, options.config.HOST);
  const [deployer, custody, holder] = node.accounts;
  if (!custody || !holder) throw new Error('The node has too few accounts');
  log.info('deploying the contracts (they are compiled first, if they were not yet)');
  const contracts = await deployContracts(node, { deployer, custodyAddress: custody.address });
  const onError = (message: string, err: unknown) => log.warn({ err }, message);
  const indexer = await startEvmIndexer(node, { onError });
  stops.push(indexer.stop);
  const folder = await prepareFolder(options.config.DATA_DIR, rpcPort);
  const settings = {
    PORT: String(options.config.PORT),
    DATA_DIR: folder,
    LEDGER_NETWORK: 'evm',
    LEDGER_RPC_URL: node.url,
    LEDGER_CHAIN_ID: String(node.chainId),
    LEDGER_SECRET_KEY: custody.secretKey,
    LEDGER_FACTORY_ADDRESS: contracts.factoryAddress,
    LEDGER_SETTLEMENT_FACTORY_ADDRESS: contracts.settlementFactoryAddress,
    RAMP_SETTLEMENT_ADDRESS: contracts.settlementAddress,
    LEDGER_FINALITY: environment['LEDGER_FINALITY'] ?? DEFAULT_CONFIRMATIONS,
    INDEXER_URL: indexer.url,
  };
  const config = await loadConfig({ ...environment, ...withoutOutside(), ...settings });
  await openEmptyDatabase(config, log, stops);
  await serve({
    config,
    log,
    stops,
    clockControl: { advanceClock: (seconds) => advanceClock(node, seconds) },
    watchesAtOnce: true,
  });
  const settingsFile = await writeSettings(folder, settings);
  process.stdout.write(describeChain({ node, contracts, holder, settingsFile }));
}

/** Settings that this command provides itself are not taken from the environment. */
function withoutOutside(): Record<string, undefined> {
  const names = [...Object.keys(LEDGER_SETTINGS), 'DATABASE_URL', 'INDEXER_URL'];
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

async function openNode(port: number): Promise<Anvil> {
  try {
    return await startAnvil({ port, mining: { everySeconds: SECONDS_PER_BLOCK } });
  } catch (error) {
    if (!isPortTaken(error)) throw error;
    throw new StartupError(
      `Port ${port} is in use by another program, perhaps by another dev:evm. Stop it, or choose another port for ` +
        `the node: npm run dev:evm -- --rpc-port ${port + 1}`,
      { cause: error },
    );
  }
}

async function prepareFolder(dataDir: string, rpcPort: number): Promise<string> {
  const folder = join(dataDir, `evm-${rpcPort}`);
  await mkdir(folder, { recursive: true });
  // The database in there was made with these, and opens with no others.
  await copyFile(join(dataDir, 'secrets.json'), join(folder, 'secrets.json'), constants.COPYFILE_EXCL).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    },
  );
  await rm(join(folder, 'spool'), { recursive: true, force: true });
  return folder;
}

/** The cluster is kept, which makes the next start faster; the database in it is another one each time. */
async function openEmptyDatabase(config: Config, log: Logger, stops: Stops): Promise<void> {
  const { url, stop } = await openEmbeddedPostgres({
    dataDir: config.DATA_DIR,
    password: config.databasePassword ?? '',
    onProgress: (message) => log.info(message),
  });
  stops.push(stop);
  const database = new URL(url).pathname.slice(1);
  const sql = postgres(new URL('/postgres', url).href, { max: 1, onnotice: () => {} });
  try {
    await sql`DROP DATABASE IF EXISTS ${sql(database)} WITH (FORCE)`;
    await sql`CREATE DATABASE ${sql(database)}`;
  } finally {
    await sql.end();
  }
}

async function advanceClock(node: Anvil, seconds: number): Promise<bigint> {
  await node.rpc('evm_increaseTime', [seconds]);
  await node.mine(BLOCKS_UNTIL_FINAL);
  const block = (await node.rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: string };
  return BigInt(block.timestamp);
}

/** For the other commands, which would look at the embedded network. */
async function writeSettings(folder: string, settings: Record<string, string>): Promise<string> {
  const file = join(folder, 'settings.env');
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  // The key in it is public.
  await writeFile(file, lines.join(''));
  return file;
}

function describeChain(chain: {
  node: Anvil;
  contracts: DeployedContracts;
  holder: AnvilAccount;
  settingsFile: string;
}): string {
  const { node, contracts, holder, settingsFile } = chain;
  const lines: [string, string][] = [
    ['Node', `${pc.cyan(node.url)}  chain id ${node.chainId}, a block every ${SECONDS_PER_BLOCK} s`],
    ['Factory', contracts.factoryAddress],
    ['Settlement', `${contracts.settlementAddress}, made by ${contracts.settlementFactoryAddress}`],
    ['A holder', `${holder.address}  ${pc.dim(`key ${holder.secretKey}, for a wallet on this chain alone`)}`],
    [
      'Commands',
      `on this chain: ${pc.bold(`env $(cat ${settingsFile}) npm run reconcile`)}, ledger:check and others`,
    ],
  ];
  return `${lines.map(([name, text]) => `${pc.bold(name.padEnd(10))} ${text}`).join('\n')}\n\n`;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port > 0 && port < 65_536) return port;
  throw new InvalidArgumentError('Use a port from 1 to 65535.');
}
