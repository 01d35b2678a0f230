/**
 * Who can load GraphiQL with the tokens of all roles in it: people on this machine.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { ROLES } from '../../../src/identity/roles.ts';
import { graphiqlOptions } from '../../../src/startup/serve.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'graphiql-'));
});
afterAll(() => rm(folder, { recursive: true }));

it.each([
  [{}, ROLES],
  [{ HOST: '127.0.0.1' }, ROLES],
  [{ HOST: '0.0.0.0' }, []],
  [{ HOST: '::' }, []],
  [{ HOST: '192.0.2.1' }, []],
  [{ AUTH_SECRETS: 'the secret of an identity provider in tests' }, []],
])('with %o the page has the tokens of these roles: %o', async (settings, roles) => {
  const { tokens } = await graphiqlOptions(await loadConfig({ DATA_DIR: folder, ...settings }));
  expect(Object.keys(tokens)).toEqual(roles);
});
