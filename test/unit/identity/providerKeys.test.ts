/**
 * The effect of a withdrawn key, and of an outage of the identity provider, on the key's tokens.
 */
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTokenVerifier } from '../../../src/identity/tokens.ts';

const RULES = { issuer: 'tests', audience: 'tests' };
const MINUTE_MS = 60_000;
const pairs = { first: generateKeyPair('ES256'), second: generateKeyPair('ES256') };
type Kid = keyof typeof pairs;

/** The answer of the identity provider. */
let answer: () => Promise<Response>;
let asked: number;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_700_000_000_000 });
  asked = 0;
  vi.stubGlobal('fetch', () => {
    asked += 1;
    return answer();
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function publishing(...kids: Kid[]) {
  return async () => {
    const keys = kids.map(async (kid) => ({ ...(await exportJWK((await pairs[kid]).publicKey)), kid }));
    return Response.json({ keys: await Promise.all(keys) });
  };
}

const OUTAGES = {
  'no answer': () => Promise.reject(new TypeError('fetch failed')),
  'an error': () => Promise.resolve(new Response('{"keys":[]}', { status: 500 })),
  'another page': () => Promise.resolve(new Response('<html>')),
  'JSON without keys': () => Promise.resolve(Response.json({ error: 'maintenance' })),
};

function newVerifier(warn = vi.fn<() => void>()) {
  const jwksUrl = 'https://id.example/keys';
  const log = { warn };
  const verify = createTokenVerifier({ ...RULES, jwksUrl, now: () => new Date(), log });
  return async (kid: Kid) => verify(await tokenBy(kid));
}

/** A new token each time: a remembered token is not verified. */
async function tokenBy(kid: Kid) {
  return new SignJWT({ roles: ['buyer'], jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: 'ES256', kid })
    .setSubject('acme')
    .setIssuer(RULES.issuer)
    .setAudience(RULES.audience)
    .setExpirationTime('1d')
    .sign((await pairs[kid]).privateKey);
}

it('refuses a withdrawn key after a minute, and asks no more often than that', async () => {
  const verify = newVerifier();
  answer = publishing('first', 'second');
  await verify('first');
  answer = publishing('second');
  vi.advanceTimersByTime(MINUTE_MS - 1);
  await verify('first');
  expect(asked).toBe(1);
  vi.advanceTimersByTime(1);
  await expect(verify('first')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  await verify('second');
  expect(asked).toBe(2);
});

it('asks once a minute when the clock was set back, too', async () => {
  const verify = newVerifier();
  answer = publishing('first');
  await verify('first');
  vi.setSystemTime(Date.now() - 120 * MINUTE_MS);
  answer = OUTAGES['no answer'];
  vi.advanceTimersByTime(MINUTE_MS);
  await verify('first');
  await verify('first');
  expect(asked).toBe(2);
  answer = publishing('second');
  vi.advanceTimersByTime(MINUTE_MS);
  await expect(verify('first')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  await verify('second');
  expect(asked).toBe(3);
});

it.each(Object.entries(OUTAGES))(
  'keeps the last keys for an hour while it gets %s',
  async (_what, outage) => {
    const warn = vi.fn<() => void>();
    const verify = newVerifier(warn);
    answer = publishing('first');
    await verify('first');
    answer = outage;
    vi.advanceTimersByTime(59 * MINUTE_MS);
    await expect(verify('first')).resolves.toMatchObject({ subject: 'acme' });
    expect(warn).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(MINUTE_MS);
    const unavailable = { code: 'OVERLOADED', details: { retryAfterSeconds: 5 } };
    await expect(verify('first')).rejects.toMatchObject(unavailable);
    answer = publishing('second');
    await verify('second');
    await expect(verify('first')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  },
);

it('asks the caller to come back while no keys were ever read', async () => {
  const verify = newVerifier();
  answer = OUTAGES['no answer'];
  await expect(verify('first')).rejects.toMatchObject({ code: 'OVERLOADED' });
  answer = publishing('first');
  await verify('first');
});
