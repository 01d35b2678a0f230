/**
 * `npm run dev:stellar` as at a terminal: the whole product on the real Soroban host, with the demo beside
 * it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../../src/db/embedded/freePort.ts';
import { DEV_TIMEOUT_MS, startDev, type RunningDev } from '../../../support/run/dev.ts';

let dev: RunningDev;
beforeAll(async () => {
  dev = await startDev('stellar');
}, DEV_TIMEOUT_MS);
afterAll(() => dev.end(), DEV_TIMEOUT_MS);

describe('dev:stellar', () => {
  it('says in one sentence that its port is taken', { timeout: DEV_TIMEOUT_MS }, async () => {
    const options = ['--rpc-port', String(dev.rpcPort)];
    const second = dev.run('devnet/stellar/dev.ts', options, { PORT: String(await freePort()) });
    expect(await second.exitCode).toBe(1);
    expect(second.output().trim()).toMatch(
      new RegExp(`^Port ${dev.rpcPort} is in use by another program, perhaps by another dev:stellar.*$`),
    );
  });

  it(
    'is where the demo runs from end to end, and every invariant holds until Ctrl-C ends it',
    { timeout: DEV_TIMEOUT_MS },
    async () => {
      const settings = await dev.settings();
      expect(settings['LEDGER_CHANNEL_SECRET_KEYS']?.split(',')).toHaveLength(22);
      const demo = dev.run('demo/main.ts', ['--expiry']);
      expect(await demo.exitCode, demo.output() + dev.output()).toBe(0);
      expect(demo.output()).toContain('books and network agree');
      expect(demo.output()).toContain('EXPIRED');
      const reconciled = dev.run('src/cli/reconcile.ts', [], settings);
      expect(await reconciled.exitCode, reconciled.output()).toBe(0);
      expect(reconciled.output()).toContain('every invariant holds');
      dev.process.kill('SIGINT');
      expect(await dev.exitCode, dev.output()).toBe(0);
      await expect(fetch(`http://127.0.0.1:${dev.rpcPort}`)).rejects.toThrow(/fetch failed/);
    },
  );
});
