import { describe, expect, it } from 'vitest';
import { createTokenVerifier, signToken } from '../../../src/identity/tokens.ts';

const OLD = 'the secret of the tests that is replaced';
const NEW = 'the secret of the tests that replaces it';
const RULES = { issuer: 'tests', audience: 'tests', now: () => new Date() };

function signedWith(secret: string, expiresInSeconds = 60) {
  return signToken({ ...RULES, secret, subject: 'acme', roles: ['buyer'], expiresInSeconds });
}

describe('a secret', () => {
  it('of under 32 bytes signs and verifies nothing', async () => {
    expect(() => createTokenVerifier({ ...RULES, secrets: [NEW, 'short'] })).toThrow('at least 32');
    await expect(signedWith('short')).rejects.toThrow('at least 32');
  });

  it.each([
    [[NEW, OLD], NEW],
    [[NEW, OLD], OLD],
    [[OLD, NEW], NEW],
    [[NEW], NEW],
  ])('of %j verifies what %j has signed', async (secrets, secret) => {
    const verify = createTokenVerifier({ ...RULES, secrets });
    await expect(verify(await signedWith(secret))).resolves.toMatchObject({ subject: 'acme' });
  });

  it('that was removed verifies nothing more', async () => {
    const verify = createTokenVerifier({ ...RULES, secrets: [NEW] });
    await expect(verify(await signedWith(OLD))).rejects.toThrow('signed with another key');
  });

  it('does not hide another defect of its token behind the other secrets', async () => {
    const verify = createTokenVerifier({ ...RULES, secrets: [OLD, NEW] });
    await expect(verify(await signedWith(OLD, -60))).rejects.toThrow('has expired');
    await expect(verify(await signedWith(NEW, -60))).rejects.toThrow('has expired');
  });
});
