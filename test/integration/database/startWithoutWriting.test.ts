/**
 * The terminal's message when the database fails during the start: one sentence, with what to do.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import postgres from 'postgres';
import { startDatabaseProxy } from '../../../devnet/databaseProxy.ts';
import { silentLog } from '../../../devnet/platform.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import { claimInstallation } from '../../../src/ledger/network/claimInstallation.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { explainStartupError } from '../../../src/startup/explainStartupError.ts';
import { serve } from '../../../src/startup/serve.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

const network = { name: 'embedded', networkId: 'embedded-1', custodyAddress: 'G…' };

/** Runs the first statement that a start writes. */
async function failureOf(handle: DatabaseHandle): Promise<unknown> {
  try {
    return await claimInstallation(handle.db, network, systemClock).catch((error: unknown) => error);
  } finally {
    await handle.close();
  }
}

const openAt = (url: string) => openDatabase({ url, poolSize: 2, applicationName: 'start' });

describe('a start', () => {
  it('on a read-only database says so, and where to write instead', async () => {
    const administrator = postgres(database.url, { max: 1 });
    const name = new URL(database.url).pathname.slice(1);
    await administrator.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await administrator.end();
    const sentence = explainStartupError(await failureOf(openAt(database.url)));
    expect(sentence).toMatch(/can only be read \(cannot execute INSERT in a read-only transaction\)/);
    expect(sentence).toContain('DATABASE_URL');
  });

  it('whose connection ends says that it may be tried again', async () => {
    const proxy = await startDatabaseProxy(database.url);
    proxy.loseCommitsWhen(() => true);
    const sentence = explainStartupError(await failureOf(openAt(proxy.url)));
    await proxy.close();
    expect(sentence).toMatch(/did not answer to the end.*Start again/);
  });

  it.each(['expiry_runs', 'indexer_registrations'])(
    'goes on where it listens already, when the database does not answer about %s',
    async (table) => {
      const proxy = await startDatabaseProxy(database.url);
      const folder = await mkdtemp(join(tmpdir(), 'start-'));
      const port = await freePort();
      const config = await loadConfig({
        DATABASE_URL: proxy.url,
        DATA_DIR: folder,
        HOST: '127.0.0.1',
        PORT: String(port),
      });
      const stops: (() => Promise<void>)[] = [];
      const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
      let lost = 0;
      proxy.loseCommitsWhen((sent) => {
        const isLost = sent.some((text) => text.includes(`"${table}"`));
        lost += Number(isLost);
        return isLost;
      });
      try {
        await serve({ config, log: silentLog, stops });
        expect(write.mock.calls.join('')).toContain('GraphQL');
        expect(lost).toBeGreaterThan(0);
        expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
      } finally {
        write.mockRestore();
        for (const stop of stops.toReversed()) await stop();
        await proxy.close();
        await rm(folder, { recursive: true });
      }
    },
  );

  it('that a defect ends keeps its stack trace', async () => {
    const administrator = postgres(database.url, { max: 1 });
    await administrator`DROP TABLE installation CASCADE`;
    await administrator.end();
    expect(explainStartupError(await failureOf(openAt(database.url)))).toBeNull();
  });
});
