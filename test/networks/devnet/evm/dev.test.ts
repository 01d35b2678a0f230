/**
 * `npm run dev:evm` as at a terminal: one command starts the whole product on a real chain, then the demo
 * runs on it, then Ctrl-C ends it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../../src/db/embedded/freePort.ts';
import { sendRpc } from '../../../../devnet/evm/rpc.ts';
import { DEV_TIMEOUT_MS, startDev, type RunningDev } from '../../../support/run/dev.ts';

let dev: RunningDev;
beforeAll(async () => {
  dev = await startDev('evm');
}, DEV_TIMEOUT_MS);
afterAll(() => dev.end(), DEV_TIMEOUT_MS);

describe('dev:evm', () => {
  it(
    'is where the demo runs from end to end, and every invariant holds afterwards',
    { timeout: DEV_TIMEOUT_MS },
    async () => {
      const demo = dev.run('demo/main.ts', ['--expiry']);
      expect(await demo.exitCode, demo.output() + dev.output()).toBe(0);
      expect(demo.output()).toContain('books and network agree');
      expect(demo.output()).toContain('EXPIRED');
      const reconciled = dev.run('src/cli/reconcile.ts', [], await dev.settings());
      expect(await reconciled.exitCode, reconciled.output()).toBe(0);
      expect(reconciled.output()).toContain('every invariant holds');
      // Some environments, such as a CI, force colours.
      const nowhere = { ...(await dev.settings()), LEDGER_RPC_URL: 'http://127.0.0.1:9', NO_COLOR: '1' };
      const alone = dev.run('src/cli/reconcile.ts', [], nowhere);
      expect(await alone.exitCode, alone.output()).toBe(2);
      expect(alone.output()).toMatch(/holds +I15/);
      expect(alone.output()).toMatch(/not proved +I2 /);
    },
  );

  it('says in one sentence that its port is taken', { timeout: DEV_TIMEOUT_MS }, async () => {
    const second = dev.run('devnet/evm/dev.ts', ['--rpc-port', String(dev.rpcPort)], {
      PORT: String(await freePort()),
    });
    expect(await second.exitCode).toBe(1);
    expect(second.output().trim()).toMatch(
      new RegExp(`^Port ${dev.rpcPort} is in use by another program.*$`),
    );
  });

  it('never runs where keys are worth something', { timeout: DEV_TIMEOUT_MS }, async () => {
    const production = dev.run('devnet/evm/dev.ts', [], { NODE_ENV: 'production' });
    expect(await production.exitCode).toBe(1);
    expect(production.output()).toMatch(/NODE_ENV=production/);
  });

  it('ends all of it on Ctrl-C', { timeout: DEV_TIMEOUT_MS }, async () => {
    dev.process.kill('SIGINT');
    expect(await dev.exitCode, dev.output()).toBe(0);
    await expect(sendRpc(`http://127.0.0.1:${dev.rpcPort}`, 'eth_chainId')).rejects.toThrow(/ECONNREFUSED/);
    const pidFile = join(dev.folder, 'postgres', 'postmaster.pid');
    await expect(readFile(pidFile)).rejects.toThrow(/ENOENT/);
  });
});
