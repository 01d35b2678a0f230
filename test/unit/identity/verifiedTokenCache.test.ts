/**
 * A cached token is valid no longer than a verified token, and for its own caller alone.
 */
import { expect, it } from 'vitest';
import { cacheVerifiedTokens } from '../../../src/identity/verifiedTokenCache.ts';
import type { Role } from '../../../src/identity/roles.ts';
import { createTokenVerifier, signToken } from '../../../src/identity/tokens.ts';

const secret = 'a secret of the tests that is long enough';
const IDENTITY = { secret, secrets: [secret], issuer: 'tests', audience: 'tests' };
const START_MS = 1_700_000_000_000;

function clock() {
  const time = { nowMs: START_MS };
  return { time, now: () => new Date(time.nowMs) };
}

function sign(now: () => Date, about: { subject?: string; roles?: Role[]; expiresInSeconds?: number } = {}) {
  return signToken({ ...IDENTITY, subject: 'acme', roles: ['buyer'], expiresInSeconds: 30, now, ...about });
}

it('ends with its token: after the tolerance, and not before', async () => {
  const { time, now } = clock();
  const verify = createTokenVerifier({ ...IDENTITY, now });
  const token = await sign(now);
  await expect(verify(token)).resolves.toMatchObject({ subject: 'acme' });
  time.nowMs = START_MS + 34_999;
  await expect(verify(token)).resolves.toMatchObject({ subject: 'acme' });
  time.nowMs = START_MS + 35_000;
  await expect(verify(token)).rejects.toThrow('The token has expired');
});

it('belongs to its caller: other tokens, changed ones included, are verified by themselves', async () => {
  const { now } = clock();
  const verify = createTokenVerifier({ ...IDENTITY, now });
  const token = await sign(now);
  await verify(token);
  const [header, , signature] = token.split('.');
  const [, payload] = (await sign(now, { subject: 'other', roles: ['admin'] })).split('.');
  await expect(verify(`${header}.${payload}.${signature}`)).rejects.toThrow('signature does not verify');
  await expect(verify(await sign(now, { subject: 'other' }))).resolves.toMatchObject({ subject: 'other' });
  await expect(verify(token)).resolves.toMatchObject({ subject: 'acme' });
});

it('is verified again after a minute, and after the clock was set back; what was refused is not remembered', async () => {
  const { time, now } = clock();
  let verified = 0;
  const isKeyValid = { yes: true };
  const verify = cacheVerifiedTokens(
    async () => {
      verified += 1;
      if (!isKeyValid.yes) throw new Error('the key was taken back');
      return {
        subject: 'acme',
        roles: [],
        warehouseIds: [],
        expiresAt: 4e9,
        apiKeyId: null,
        jti: null,
        issuedAt: null,
      };
    },
    now,
    () => false,
  );
  await verify('a');
  time.nowMs += 59_999;
  await verify('a');
  expect(verified).toBe(1);
  time.nowMs += 1;
  await verify('a');
  expect(verified).toBe(2);
  time.nowMs = START_MS;
  await verify('a');
  expect(verified).toBe(3);
  isKeyValid.yes = false;
  time.nowMs += 60_000;
  await expect(verify('a')).rejects.toThrow('taken back');
  await expect(verify('a')).rejects.toThrow('taken back');
  isKeyValid.yes = true;
  await expect(verify('a')).resolves.toMatchObject({ subject: 'acme' });
});
