/**
 * The common part of `npm run dev:evm` and `npm run dev:stellar`: the whole product on a network on this
 * machine.
 *
 *   node, with contracts ──▶ indexer double ──▶ empty database ──▶ server
 *
 * Network and database are new at each start, because the books of an earlier network are of no use. Their
 * files are in DATA_DIR/<family>-<port of the node>, which belongs to the process that holds the port. The
 * secrets are those of DATA_DIR, so `npm run demo` and `npm run token` need no settings.
 */
import { constants } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import pc from 'picocolors';
import postgres from 'postgres';
import { loadConfig, readEnvironment } from '../src/config/config.ts';
import type { Config } from '../src/config/config.ts';
import { openEmbeddedPostgres } from '../src/db/embedded/embeddedPostgres.ts';
import { checkPort } from '../src/http/server/checkPort.ts';
import { LEDGER_SETTINGS } from '../src/config/ledgerSettings.ts';
import { createLogger } from '../src/lib/logger.ts';
import type { Logger } from '../src/lib/logger.ts';
import { StartupError } from '../src/lib/startupErrors.ts';
import { runProcess, runUntilStopped } from '../src/startup/runProcess.ts';
import type { Stops } from '../src/startup/runProcess.ts';
import { serve } from '../src/startup/serve.ts';

export interface DevFamily {
  name: 'evm' | 'stellar';
  description: string;
  defaultRpcPort: number;
  /** Opens the node with its contracts, and the indexer, and adds the functions that stop them to `stops`. */
  open(options: {
    rpcPort: number;
    log: Logger;
    stops: Stops;
    environment: NodeJS.Dict<string>;
  }): Promise<DevNetwork>;
  isPortTaken(error: unknown): boolean;
}

interface DevNetwork {
  settings: Record<string, string>;
  /** Moves the network's time ahead. @returns the new time in Unix seconds */
  advanceClock(seconds: number): Promise<bigint>;
  /** Lines for the terminal: a name, and a description. */
  facts: [name: string, text: string][];
}

export async function runDev(family: DevFamily): Promise<void> {
  const name = `dev:${family.name}`;
  const command = new Command(name)
    .description(`${family.description} Ctrl-C ends all of it.`)
    .option('--rpc-port <port>', "the node's port", parsePort, family.defaultRpcPort)
    .action(async ({ rpcPort }: { rpcPort: number }) => {
      const environment = readEnvironment();
      if (environment['NODE_ENV'] === 'production') {
        throw new StartupError(
          `${name} uses publicly known keys, so it never runs with NODE_ENV=production.`,
        );
      }
      const config = await loadConfig({ ...environment, ...withoutOutside() });
      const log = createLogger({ level: config.LOG_LEVEL, pretty: process.stdout.isTTY });
      await runUntilStopped(log, (stops) => start(family, { environment, config, log, stops, rpcPort }));
    });
  await runProcess(async () => void (await command.parseAsync()));
}

interface StartOptions {
  environment: NodeJS.Dict<string>;
  /** The configuration of this machine's embedded network, whose folder and secrets are used. */
  config: Config;
  log: Logger;
  stops: Stops;
  rpcPort: number;
}

async function start(family: DevFamily, options: StartOptions): Promise<void> {
  const { environment, log, stops, rpcPort } = options;
  await checkPort(options.config.PORT, options.config.HOST);
  const network = await openNetwork(family, options);
  const folder = await prepareFolder(options.config.DATA_DIR, `${family.name}-${rpcPort}`);
  const settings = { PORT: String(options.config.PORT), DATA_DIR: folder, ...network.settings };
  const config = await loadConfig({ ...environment, ...withoutOutside(), ...settings });
  await openEmptyDatabase(config, log, stops);
  await serve({
    config,
    log,
    stops,
    clockControl: { advanceClock: network.advanceClock },
    watchesAtOnce: true,
  });
  const settingsFile = await writeSettings(folder, settings);
  const commands = `on this network: ${pc.bold(`env $(cat ${settingsFile}) npm run reconcile`)}, ledger:check and others`;
  const lines = [...network.facts, ['Commands', commands] as const];
  process.stdout.write(
    `${lines.map(([name, text]) => `${pc.bold(name.padEnd(10))} ${text}`).join('\n')}\n\n`,
  );
}

async function openNetwork(family: DevFamily, options: StartOptions): Promise<DevNetwork> {
  const { rpcPort } = options;
  try {
    return await family.open(options);
  } catch (error) {
    if (!family.isPortTaken(error)) throw error;
    throw new StartupError(
      `Port ${rpcPort} is in use by another program, perhaps by another dev:${family.name}. Stop it, or choose another ` +
        `port for the node: npm run dev:${family.name} -- --rpc-port ${rpcPort + 1}`,
      { cause: error },
    );
  }
}

/** Settings that this command provides are not taken from the environment. */
function withoutOutside(): Record<string, undefined> {
  const names = [...Object.keys(LEDGER_SETTINGS), 'DATABASE_URL', 'DATABASE_MIGRATION_URL', 'INDEXER_URL'];
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

async function prepareFolder(dataDir: string, name: string): Promise<string> {
  const folder = join(dataDir, name);
  await mkdir(folder, { recursive: true });
  // The database in the folder was made with these secrets, and opens with no others.
  await copyFile(join(dataDir, 'secrets.json'), join(folder, 'secrets.json'), constants.COPYFILE_EXCL).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    },
  );
  return folder;
}

/** Keeps the cluster, which makes the next start faster, and replaces the database in it. */
async function openEmptyDatabase(config: Config, log: Logger, stops: Stops): Promise<void> {
  const { ownerUrl: url, stop } = await openEmbeddedPostgres({
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

/** Settings for the other commands, which would otherwise use the embedded network. */
async function writeSettings(folder: string, settings: Record<string, string>): Promise<string> {
  const file = join(folder, 'settings.env');
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  // The file needs no protection, because its key is public.
  await writeFile(file, lines.join(''));
  return file;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port > 0 && port < 65_536) return port;
  throw new InvalidArgumentError('Use a port from 1 to 65535.');
}
