/**
 * The commands that the terminal suggests work exactly as printed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { hostInUrl } from '../../../src/lib/hosts.ts';
import { welcome } from '../../../src/startup/welcome.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'welcome-'));
});

afterAll(() => rm(folder, { recursive: true }));

async function said(
  environment: NodeJS.Dict<string>,
  indexerUrl: string | null = 'http://127.0.0.1:1',
  isTimeMovable = true,
): Promise<string> {
  const config = await loadConfig({ DATA_DIR: folder, ...environment });
  const facts = {
    config,
    port: config.PORT,
    database: { description: 'a database' },
    network: { name: 'embedded', custodyAddress: 'GCUSTODY' },
    indexerUrl,
    isTimeMovable,
  };
  return stripVTControlCharacters(await welcome(facts));
}

it('names the demo with the settings that a second terminal does not know of', async () => {
  expect(await said({})).toContain(
    `Next: DATA_DIR=${folder} npm run demo in a second terminal, or open http://localhost:4000/graphql.`,
  );
  expect(await said({ PORT: '4001' })).toContain(`Next: PORT=4001 DATA_DIR=${folder} npm run demo in`);
});

it('names neither the demo nor GraphiQL to those who have none of it', async () => {
  const text = await said({ AUTH_JWKS_URL: 'https://identity.example/keys', GRAPHIQL: 'false' });
  expect(text).toContain('http://localhost:4000/graphql');
  expect(text).not.toContain('Next:');
  expect(text).not.toContain('Development tokens');
});

it('names no demo where the demo could not move the time', async () => {
  const text = await said({}, null, false);
  expect(text).not.toContain('npm run demo');
  expect(text).toContain('Next: open http://localhost:4000/graphql.');
});

it('says whose the indexer is, and what is without one', async () => {
  expect(await said({})).toContain('Indexer    embedded, http://127.0.0.1:1');
  const url = 'https://indexer.example';
  expect(await said({ INDEXER_URL: url }, url)).toContain(`Indexer    ${url}`);
  expect(await said({}, null)).toContain('Indexer    none; the feed looks at the tokens every 30 s');
});

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', 'localhost'],
  ['::', 'localhost'],
  ['fd00::1', '[fd00::1]'],
])('writes the address %s as %s into a URL', (host, expected) => {
  expect(hostInUrl(host)).toBe(expected);
});
