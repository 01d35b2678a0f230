/**
 * The server accepts tokens that were printed for people with the same configuration.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { signDevelopmentToken } from '../../../src/startup/developmentTokens.ts';

it('are not made for longer than the configuration allows', async () => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'tokens-'));
  const config = await loadConfig({ DATA_DIR, AUTH_MAX_TOKEN_SECONDS: '3600' });
  await expect(signDevelopmentToken(config, 'buyer', 'acme', 3_600)).resolves.toMatch(/^eyJ/);
  await expect(signDevelopmentToken(config, 'buyer')).resolves.toMatch(/^eyJ/);
  await expect(signDevelopmentToken(config, 'buyer', 'acme', 3_601)).rejects.toThrow(
    'A token for 3601 s would be refused: AUTH_MAX_TOKEN_SECONDS allows 3600.',
  );
  await rm(DATA_DIR, { recursive: true });
});
