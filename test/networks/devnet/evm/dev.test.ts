/**
 * `npm run dev:evm` as used at a terminal: one command to the whole product on a real chain, the
 * demo on it, and Ctrl-C.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePort } from '../../../../src/db/embedded/freePort.ts';
import { sendRpc } from '../../../../devnet/evm/rpc.ts';

/** Compiling, a first cluster, and a block a second: a busy machine gets its time. */
const PATIENCE_MS = 180_000;

interface Run {
  process: ChildProcess;
  output(): string;
  exitCode: Promise<number | null>;
}

let folder = '';
let environment: NodeJS.Dict<string> = {};
let rpcPort = 0;
let dev: Run;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'marketplace-dev-'));
  // As root, PostgreSQL runs as a user of its own, who must be able to reach the folder.
  await chmod(folder, 0o755);
  rpcPort = await freePort();
  environment = { DATA_DIR: folder, PORT: String(await freePort()), LOG_LEVEL: 'warn' };
  dev = run('devnet/evm/dev.ts', ['--rpc-port', String(rpcPort)]);
  await vi.waitUntil(() => dev.output().includes('A holder'), { timeout: PATIENCE_MS, interval: 100 });
}, PATIENCE_MS);
afterAll(async () => {
  // Also where a test failed before its end: its database would outlive it otherwise.
  dev.process.kill('SIGINT');
  await dev.exitCode;
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}, PATIENCE_MS);

function run(script: string, options: string[] = [], extra: NodeJS.Dict<string> = {}): Run {
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...options], {
    cwd: fileURLToPath(new URL('../../../../', import.meta.url)),
    env: { ...process.env, ...environment, ...extra },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  }
  const exitCode = once(child, 'close').then(([code]) => code as number | null);
  return { process: child, output: () => text, exitCode };
}

describe('dev:evm', () => {
  it(
    'is where the demo tells its whole story, and every invariant holds afterwards',
    { timeout: PATIENCE_MS },
    async () => {
      const demo = run('demo/main.ts');
      expect(await demo.exitCode, demo.output() + dev.output()).toBe(0);
      expect(demo.output()).toContain('books and network agree');
      expect(demo.output()).toContain('EXPIRED');
      const reconciled = run('src/cli/reconcile.ts', [], await settingsOfChain());
      expect(await reconciled.exitCode, reconciled.output()).toBe(0);
      expect(reconciled.output()).toContain('every invariant holds');
    },
  );

  it('says in one sentence that its port is taken', { timeout: PATIENCE_MS }, async () => {
    const second = run('devnet/evm/dev.ts', ['--rpc-port', String(rpcPort)], {
      PORT: String(await freePort()),
    });
    expect(await second.exitCode).toBe(1);
    expect(second.output().trim()).toMatch(new RegExp(`^Port ${rpcPort} is in use by another program.*$`));
  });

  it('never runs where keys are worth something', { timeout: PATIENCE_MS }, async () => {
    const production = run('devnet/evm/dev.ts', [], { NODE_ENV: 'production' });
    expect(await production.exitCode).toBe(1);
    expect(production.output()).toMatch(/NODE_ENV=production/);
  });

  it('ends all of it on Ctrl-C', { timeout: PATIENCE_MS }, async () => {
    dev.process.kill('SIGINT');
    expect(await dev.exitCode, dev.output()).toBe(0);
    await expect(sendRpc(`http://127.0.0.1:${rpcPort}`, 'eth_chainId')).rejects.toThrow(/fetch failed/);
    const pidFile = join(folder, `evm-${rpcPort}`, 'postgres', 'postmaster.pid');
    await expect(readFile(pidFile)).rejects.toThrow(/ENOENT/);
  });
});

async function settingsOfChain(): Promise<Record<string, string>> {
  const text = await readFile(join(folder, `evm-${rpcPort}`, 'settings.env'), 'utf8');
  const pairs = text
    .trim()
    .split('\n')
    .map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]);
  return Object.fromEntries(pairs);
}
