/**
 * A new network is one folder and one line: with one more family in the list and no other change, its
 * settings are read and checked, a server runs on it, and ledger:check checks it.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { SETTINGS } from '../../../src/config/settings.ts';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import { checkLedger } from '../../../src/diagnostics/checkLedger.ts';
import { ensureChannels } from '../../../src/diagnostics/ensureChannels.ts';
import type { Check } from '../../../src/ledger/network/check.ts';
import { generateSecretKey } from '../../../src/lib/strkey.ts';
import { signDevelopmentToken } from '../../../src/startup/developmentTokens.ts';
import { serve } from '../../../src/startup/serve.ts';
import { silentLog } from '../../../devnet/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { projectInput } from '../../support/http/creditTrade.ts';
import { toy } from './toyFamily.ts';

// Adds the line of the new family. The code that reads the list is the product's own.
vi.mock(import('../../../src/ledger/network/families.ts'), async (original) => {
  const { FAMILIES } = await original();
  (FAMILIES as unknown as unknown[]).push((await import('./toyFamily.ts')).toy);
  return original();
});

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'toy-'));
});
afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const key = generateSecretKey(randomBytes);

function environment(more: Record<string, string> = {}): Record<string, string> {
  return {
    DATA_DIR: folder,
    DATABASE_URL: database.url,
    HOST: '127.0.0.1',
    LEDGER_NETWORK: 'toy-box',
    LEDGER_SECRET_KEY: key,
    TOY_MAKER: 'Ada',
    ...more,
  };
}

async function complaint(settings: Record<string, string>): Promise<string> {
  return loadConfig(settings).then(
    () => '',
    (error: Error) => error.message,
  );
}

describe('the settings of a new family', () => {
  it('are in the table, in their places, and its names in the texts', () => {
    const names = Object.keys(SETTINGS);
    const placeOf = (name: string) => names.indexOf(name);
    expect(placeOf('TOY_MAKER')).toBeGreaterThan(placeOf('LEDGER_SECRET_KEY'));
    expect(placeOf('TOY_MAKER')).toBeLessThan(placeOf('LEDGER_TIMEOUT_MS'));
    expect(names).toContain('TOY_SPEED');
    expect(SETTINGS.LEDGER_NETWORK.description).toMatch(
      /evm \(any, by url and chain id\), (?:.+, )?toy-box, toy-shop\.$/,
    );
    expect(SETTINGS.LEDGER_SECRET_KEY.description).toContain('S… for toys');
  });

  it('make its ledger', async () => {
    const { ledger } = await loadConfig(environment());
    expect(ledger).toEqual({ family: 'toy', name: 'toy-box', secretKey: key, maker: 'Ada', speed: 'slow' });
  });

  it.each([
    ['is missing', { TOY_MAKER: '' }, 'TOY_MAKER must be set with LEDGER_NETWORK=toy-box. Who made the toy.'],
    ['contradicts', { TOY_MAKER: 'none' }, 'TOY_MAKER is none: a toy has a maker.'],
    ['is another network’s', { LEDGER_RPC_URL: 'http://x' }, 'LEDGER_RPC_URL is set, but means nothing with'],
    ['is money', { LEDGER_NETWORK: 'toy-shop' }, 'NODE_ENV must be production with LEDGER_NETWORK=toy-shop'],
    ['is its own elsewhere', { LEDGER_NETWORK: 'embedded' }, 'it is for toy networks. Remove it'],
    ['names no network', { LEDGER_NETWORK: 'toy-chest' }, ', toy-box, toy-shop'],
  ])('are refused when one %s', async (_what, more, expected) => {
    expect(await complaint(environment(more))).toContain(expected);
  });
});

it('a server runs on a new family by its settings alone', async () => {
  const config = await loadConfig(environment({ PORT: String(await freePort()) }));
  const stops: (() => Promise<void>)[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await serve({ config, log: silentLog, stops });
    expect(write.mock.calls.join('')).toContain('toy-box by Ada');
    const ask = async (query: string, variables: object = {}) => {
      const response = await fetch(`http://127.0.0.1:${config.PORT}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${await signDevelopmentToken(config, 'developer')}`,
        },
        body: JSON.stringify({ query, variables }),
      });
      return (await response.json()) as unknown;
    };
    expect(await ask('{ ledgerNetwork { name clockCanBeMoved } }')).toMatchObject({
      data: { ledgerNetwork: { name: 'toy-box by Ada', clockCanBeMoved: true } },
    });
    const input = { ...projectInput({ quantityCO2e: 10 }), idempotencyKey: randomUUID() };
    const create =
      'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { state } } }';
    expect(await ask(create, { input })).toMatchObject({
      data: { createProject: { project: { state: 'OPEN' } } },
    });
  } finally {
    write.mockRestore();
    for (const stop of stops.toReversed()) await stop();
  }
});

it('ledger:check looks at a new family, and says what its settings can do about it', async () => {
  const found: Check[] = [];
  for await (const check of checkLedger(await loadConfig(environment()), silentLog)) found.push(check);
  expect(found.filter(({ result }) => result === 'fail')).toEqual([]);
  expect(found).toContainEqual({
    result: 'warn',
    name: 'toy',
    found: 'slow',
    remedy: 'Wind it up. Set TOY_SPEED=fast.',
  });
  expect(found.find(({ name }) => name === 'indexer')?.found).toContain('the embedded one');
});

it('a family without channels says so', async () => {
  const { ledger } = await loadConfig(environment());
  expect(toy.channels).toBeNull();
  const deps = { ledger, dataDir: folder, db: database.handle.db, random: randomBytes };
  await expect(ensureChannels(deps, { count: 1, fundsStroops: 20_000_000n })).rejects.toThrow(/need none/);
});
