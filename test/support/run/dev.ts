/**
 * Runs `npm run dev:evm` and `npm run dev:stellar` as at a terminal, in their own folder and on their own
 * ports, with other commands beside them.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import type { Program } from './programList.ts';
import { pathOf } from './programs.ts';

/** Time for compiling, a first cluster, and one ledger a second, on a busy machine. */
export const DEV_TIMEOUT_MS = 180_000;

interface Run {
  process: ChildProcess;
  output(): string;
  exitCode: Promise<number | null>;
}

export interface RunningDev extends Run {
  rpcPort: number;
  /** Folder of this network's database, settings and other files. */
  folder: string;
  /** Runs a program of the project with this machine's settings and additional ones. */
  run(program: Program, options?: string[], extra?: NodeJS.Dict<string>): Run;
  /** Settings of commands on this network. */
  settings(): Promise<Record<string, string>>;
  end(): Promise<void>;
}

export async function startDev(family: 'evm' | 'stellar'): Promise<RunningDev> {
  const dataDir = await mkdtemp(join(tmpdir(), 'marketplace-dev-'));
  // A root user's PostgreSQL runs as another user, who must be able to reach the folder.
  await chmod(dataDir, 0o755);
  const rpcPort = await freePort();
  const folder = join(dataDir, `${family}-${rpcPort}`);
  const environment = { DATA_DIR: dataDir, PORT: String(await freePort()), LOG_LEVEL: 'warn' };
  const run: RunningDev['run'] = (program, options = [], extra = {}) =>
    start([pathOf(program), ...options], { ...environment, ...extra });
  // Starts it as the package's script does. The other programs are compiled once, which saves seconds at each
  // start.
  const script = ['--import', 'tsx', `devnet/${family}/dev.ts`];
  const dev = start([...script, '--rpc-port', String(rpcPort)], environment);
  const end = async () => {
    // Also stops it after a failed test, because its database would outlive the test otherwise.
    dev.process.kill('SIGINT');
    await dev.exitCode;
    await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    const isUp = () => dev.output().includes('A holder') || dev.process.exitCode !== null;
    await vi.waitUntil(isUp, { timeout: DEV_TIMEOUT_MS, interval: 100 });
    if (dev.process.exitCode !== null) throw new Error(dev.output());
  } catch (error) {
    await end();
    throw error;
  }
  return { ...dev, rpcPort, folder, run, settings: () => settingsIn(folder), end };
}

function start(words: string[], extra: NodeJS.Dict<string>): Run {
  const child = spawn(process.execPath, words, {
    cwd: fileURLToPath(new URL('../../../', import.meta.url)),
    env: { ...process.env, ...extra },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  }
  const exitCode = once(child, 'close').then(([code]) => code as number | null);
  return { process: child, output: () => text, exitCode };
}

async function settingsIn(folder: string): Promise<Record<string, string>> {
  const text = await readFile(join(folder, 'settings.env'), 'utf8');
  const pairs = text
    .trim()
    .split('\n')
    .map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]);
  return Object.fromEntries(pairs);
}
