/**
 * ledger:check on the embedded network: its report on the database, the treasury and the indexer, and that it
 * continues after a problem. The families' own checks are tested with their networks.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import { installation, signingAccounts } from '../../../src/db/tables/index.ts';
import {
  startEmbeddedIndexer,
  type EmbeddedIndexer,
} from '../../../src/indexer/embedded/startEmbeddedIndexer.ts';
import type { Check } from '../../../src/ledger/network/check.ts';
import { generateSecretKey } from '../../../src/lib/strkey.ts';
import { checkLedger } from '../../../src/diagnostics/checkLedger.ts';
import { watchRetirements } from '../../../src/resolvers/operations/watchRetirements.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { custodySecretKey, silentLog } from '../../../devnet/platform.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { pathOf } from '../../support/run/programs.ts';

const PUBLIC_URL = 'http://127.0.0.1:4999';
const run = promisify(execFile);

let database: TestDatabase;
let indexer: EmbeddedIndexer;
let folder: string;

beforeEach(async () => {
  database = await createTestDatabase();
  const { handle } = database;
  indexer = await startEmbeddedIndexer({ handle, clock: systemClock, randomBytes, onError: () => {} });
  folder = await mkdtemp(join(tmpdir(), 'ledger-check-'));
});
afterEach(async () => {
  await indexer.stop();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const bearer = () => ({ authorization: `Bearer ${indexer.token}` });

function environment(more: Record<string, string> = {}): Record<string, string> {
  return {
    DATA_DIR: folder,
    DATABASE_URL: database.url,
    LEDGER_SECRET_KEY: custodySecretKey,
    INDEXER_URL: indexer.url,
    INDEXER_TOKEN: indexer.token,
    PUBLIC_URL,
    ...more,
  };
}

async function look(more: Record<string, string> = {}): Promise<Check[]> {
  const found: Check[] = [];
  for await (const check of checkLedger(await loadConfig(environment(more)), silentLog)) found.push(check);
  return found;
}

function about(checks: readonly Check[], name: string): Check | undefined {
  return checks.find((check) => check.name === name);
}

const resultsOf = (checks: readonly Check[]) =>
  Object.fromEntries(checks.map(({ name, result }) => [name, result]));

async function register(publicUrl = PUBLIC_URL): Promise<string> {
  const network = await embeddedNetworkOn(database.handle);
  const platform = await platformOn(database.handle, network, {
    indexerUrl: indexer.url,
    indexerToken: indexer.token,
    publicUrl,
  });
  const { webhookId } = await watchRetirements(platform.dependencies);
  await platform.stop();
  return webhookId;
}

describe('ledger:check', () => {
  it('finds everything right where it is', async () => {
    await register();
    const checks = await look();
    expect(checks.filter(({ result }) => result !== 'pass')).toEqual([]);
    expect(checks.map(({ name }) => name)).toEqual([
      'network',
      'custody',
      'treasury',
      'latest ledger',
      'settlement',
      'database',
      'belongs to',
      'indexer',
      'deliveries',
      'registration',
    ]);
  });

  it('does not claim a new database', async () => {
    expect(about(await look(), 'belongs to')?.found).toContain('no network yet');
    expect(await database.handle.db.select().from(installation)).toEqual([]);
  });

  it('goes on after a database of another signer and a foreign treasury', async () => {
    await register();
    const checks = await look({
      LEDGER_SECRET_KEY: generateSecretKey(randomBytes),
      TREASURY_ADDRESS: (await embeddedNetworkOn(database.handle)).custodyAddress,
    });
    expect(resultsOf(checks)).toMatchObject({
      treasury: 'fail',
      'belongs to': 'fail',
      registration: 'pass',
    });
    expect(about(checks, 'treasury')?.found).toContain('TREASURY_ADDRESS');
    expect(about(checks, 'belongs to')?.found).toContain('LEDGER_SECRET_KEY');
  });

  it('goes on without a database, and says which one', async () => {
    const url = new URL(database.url);
    url.port = String(await freePort());
    const checks = await look({ DATABASE_URL: url.href });
    expect(resultsOf(checks)).toMatchObject({ network: 'fail', database: 'fail', indexer: 'pass' });
    expect(about(checks, 'database')?.found).toContain(url.host);
  });

  it('names signing accounts that were stopped', async () => {
    const haltedBecause = 'the network expects sequence 9';
    await database.handle.db
      .insert(signingAccounts)
      .values({ address: 'GSIGNER', nextSequence: 3n, haltedBecause });
    const signing = about(await look(), 'signing');
    expect(signing).toMatchObject({ result: 'fail', found: `stopped for GSIGNER: ${haltedBecause}` });
    expect(signing?.remedy).toContain('npm run reconcile');
  });

  it('names a settlement contract that is none', async () => {
    const { factoryAddress } = await embeddedNetworkOn(database.handle);
    expect(about(await look({ RAMP_SETTLEMENT_ADDRESS: factoryAddress }), 'settlement')).toMatchObject({
      result: 'fail',
      found: expect.stringContaining(factoryAddress),
    });
  });
});

describe('about the indexer, ledger:check', () => {
  it('notices that nothing is delivered yet', async () => {
    const registration = about(await look(), 'registration');
    expect(registration).toMatchObject({
      result: 'warn',
      remedy: expect.stringContaining('watchRetirements'),
    });
  });

  it('notices a registration that the indexer has forgotten', async () => {
    const webhookId = await register();
    await fetch(`${indexer.url}/webhooks/${webhookId}`, { method: 'DELETE', headers: bearer() });
    expect(about(await look(), 'registration')?.found).toBe(`${webhookId} is unknown to the indexer`);
  });

  it('notices a registration for an address of the past', async () => {
    await register('http://127.0.0.1:4000');
    expect(about(await look(), 'registration')).toMatchObject({
      result: 'warn',
      found: expect.stringContaining('http://127.0.0.1:4000/api/hooks/retirements'),
    });
  });

  it('notices registrations that the platform does not know of', async () => {
    await register();
    const url = `${PUBLIC_URL}/api/hooks/retirements`;
    const headers = { 'content-type': 'application/json', ...bearer() };
    await fetch(`${indexer.url}/webhooks`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ url, events: ['*'] }),
    });
    expect(about(await look(), 'registration')).toMatchObject({
      result: 'warn',
      found: expect.stringContaining('1 more'),
    });
  });

  it('says that it is away, and what an indexer elsewhere can’t reach', async () => {
    const away = `http://127.0.0.1:${await freePort()}`;
    expect(about(await look({ INDEXER_URL: away }), 'indexer')).toMatchObject({ result: 'fail' });
    const elsewhere = await look({ INDEXER_URL: 'http://indexer.invalid' });
    expect(about(elsewhere, 'deliveries')).toMatchObject({
      result: 'warn',
      remedy: expect.stringContaining('PUBLIC_URL'),
    });
  });

  it('needs none on the embedded network', async () => {
    expect(about(await look({ INDEXER_URL: '', INDEXER_TOKEN: '' }), 'indexer')?.result).toBe('pass');
  });
});

describe('the command', () => {
  const ledgerCheck = (more: Record<string, string>) =>
    run(process.execPath, [pathOf('src/cli/ledgerCheck.ts')], {
      env: { PATH: process.env['PATH'], NO_COLOR: '1', ...environment(more) },
    });

  it('exits with 0 when all that is needed is right, and says what could be better', async () => {
    const { stdout } = await ledgerCheck({});
    expect(stdout).toContain('! registration');
    expect(stdout).toContain('All that the server needs is right; 1 could be better.');
  });

  it('exits with 1 when something is wrong, also among the settings, and repeats no secret', async () => {
    const treasury = await ledgerCheck({ TREASURY_ADDRESS: 'GELSEWHERE' }).catch((error: unknown) => error);
    expect(treasury).toMatchObject({ code: 1, stdout: expect.stringContaining('✗ treasury') });
    const settings = await ledgerCheck({ PORT: 'eighty', LEDGER_CHAIN_ID: '1' }).catch(
      (error: unknown) => error,
    );
    expect(settings).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/✗ settings +PORT[^]*LEDGER_CHAIN_ID/),
    });
    expect(JSON.stringify([treasury, settings])).not.toContain(custodySecretKey);
  });
});
