import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTokenVerifier, type TokenVerifier } from '../../../src/identity/tokens.ts';
import { listenLocally } from '../../../devnet/listenLocally.ts';
import { IDENTITY, startServer, token } from '../../support/http/httpServer.ts';
import type { TestServer } from '../../support/http/httpServer.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close(0));

async function ask(query: string, authorization?: string) {
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/graphql-response+json',
      ...(authorization === undefined ? {} : { authorization }),
    },
    body: JSON.stringify({ query }),
  });
  const body = (await response.json()) as {
    data?: Record<string, unknown> | null;
    errors?: { message: string; extensions: Record<string, unknown> }[];
  };
  return { status: response.status, headers: response.headers, ...body };
}

/** Retires 5 tonnes of the buyer. */
function retire(buyerId: string): string {
  return `mutation { retire(input: { buyerId: "${buyerId}", amountCO2e: 5, buyerName: "Acme" }) }`;
}

/** A JWT with the given header and claims, and an invalid signature. */
function unsigned(header: object, claims: object, signature = ''): string {
  return `${base64url(header)}.${base64url(claims)}.${signature}`;
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function claims(overrides: object = {}) {
  const now = Math.floor(Date.now() / 1000);
  return {
    sub: 'acme',
    roles: ['operator'],
    iss: IDENTITY.issuer,
    aud: IDENTITY.audience,
    iat: now,
    exp: now + 300,
    ...overrides,
  };
}

function signed(payload: object, secret = IDENTITY.secret) {
  return new SignJWT(payload as Record<string, unknown>)
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(secret));
}

/** A JWS of any payload with a valid signature. */
function compact(header: object, payload: string): string {
  const text = `${base64url(header)}.${Buffer.from(payload).toString('base64url')}`;
  return `${text}.${createHmac('sha256', IDENTITY.secret).update(text).digest('base64url')}`;
}

describe('a caller', () => {
  it('is known by a valid token', async () => {
    const answer = await ask('{ whoami operators }', `Bearer ${await token(['operator'])}`);
    expect(answer.data).toEqual({ whoami: 'acme', operators: 'only' });
  });

  it('needs no token for what is public', async () => {
    expect((await ask('{ hello }')).data).toEqual({ hello: 'world' });
  });

  it('without a token is UNAUTHENTICATED where one is needed', async () => {
    const { errors } = await ask('{ operators }');
    expect(errors?.[0]).toMatchObject({
      message: 'operators needs a token with role operator; no bearer token was sent.',
      extensions: { code: 'UNAUTHENTICATED' },
    });
  });

  it('with another role is FORBIDDEN, with the roles that may', async () => {
    const { errors } = await ask('{ operators }', `Bearer ${await token(['farmer', 'buyer'])}`);
    expect(errors?.[0]).toMatchObject({
      message: 'operators needs a token with role operator; this one has farmer, buyer.',
      // Spelled as in the contract and in `viewer { roles }`.
      extensions: { code: 'FORBIDDEN', roles: ['FARMER', 'BUYER'] },
    });
  });

  it('who is admin may do what any role may', async () => {
    expect((await ask('{ operators }', `Bearer ${await token(['admin'])}`)).data).toEqual({
      operators: 'only',
    });
  });

  it('acts for its own buyerId alone', async () => {
    const authorization = `Bearer ${await token(['buyer'])}`;
    expect((await ask(retire('acme'), authorization)).data).toEqual({ retire: '5 for Acme: -' });
    expect((await ask(retire('other'), authorization)).errors?.[0]).toMatchObject({
      message:
        'retire needs a token with role operator or buyer and subject other; this one has buyer and subject acme.',
      extensions: { code: 'FORBIDDEN' },
    });
    expect((await ask(retire(''), authorization)).errors?.[0]).toMatchObject({
      message:
        'retire needs a token with role operator or buyer and subject ""; this one has buyer and subject acme.',
    });
    const notABuyer = `Bearer ${await token(['farmer'])}`;
    expect((await ask(retire('acme'), notABuyer)).errors?.[0]?.extensions['code']).toBe('FORBIDDEN');
  });

  it('learns that it may not before it learns what is wrong with the input', async () => {
    const { errors } = await ask(
      'mutation { retire(input: { buyerId: "acme", amountCO2e: 5, buyerName: "" }) }',
    );
    expect(errors?.[0]?.extensions['code']).toBe('UNAUTHENTICATED');
  });
});

describe('a token is refused, each way with its reason', () => {
  const rsa = generateKeyPair('RS256', { extractable: true });
  const cases: [string, () => Promise<string> | string, RegExp][] = [
    ['expired', () => token(['operator'], { expiresInSeconds: -10 }), /has expired/],
    [
      'signed with another key',
      () => token(['operator'], { secret: 'another secret that is also long enough' }),
      /signature/,
    ],
    [
      'changed afterwards',
      async () => (await token(['buyer'])).replace(/\.[^.]+\./, `.${base64url(claims())}.`),
      /signature/,
    ],
    ['for another audience', () => token(['operator'], { audience: 'another-service' }), /another audience/],
    ['by another issuer', () => token(['operator'], { issuer: 'https://evil.test' }), /another issuer/],
    ['alg none', () => unsigned({ alg: 'none' }, claims()), /not accepted|well-formed/],
    ['alg none with a signature', () => unsigned({ alg: 'none' }, claims(), 'AAAA'), /not accepted/],
    [
      'RS256 in place of the secret',
      async () => new SignJWT(claims()).setProtectedHeader({ alg: 'RS256' }).sign((await rsa).privateKey),
      /not accepted/,
    ],
    ['without exp', () => signed(claims({ exp: undefined })), /"exp"/],
    ['without sub', () => signed(claims({ sub: undefined })), /"sub"/],
    ['not valid yet', () => signed(claims({ nbf: Math.floor(Date.now() / 1000) + 60 })), /not valid yet/],
    ['without roles', () => signed(claims({ roles: undefined })), /"roles"/],
    ['with no role', () => signed(claims({ roles: [] })), /"roles"/],
    ['with an unknown role', () => signed(claims({ roles: ['operator', 'root'] })), /"roles"/],
    ['with roles as text', () => signed(claims({ roles: 'operator' })), /"roles"/],
    ['with an empty subject', () => signed(claims({ sub: '' })), /"sub"/],
    ['with a subject of 129 characters', () => signed(claims({ sub: 'x'.repeat(129) })), /"sub"/],
    ['with a subject that could be shown as another', () => signed(claims({ sub: 'acme\u202e' })), /"sub"/],
    ['with claims that are no object', () => compact({ alg: 'HS256' }, '"acme"'), /well-formed/],
    [
      'with an extension that must be understood',
      () => compact({ alg: 'HS256', crit: ['x'], x: 1 }, JSON.stringify(claims())),
      /algorithm is not accepted/,
    ],
    ['no JWT at all', () => 'hello', /well-formed/],
    ['far too long', () => 'a'.repeat(9000), /at most 8192/],
  ];

  it.each(cases)('%s', async (_name, make, reason) => {
    const { status, headers, errors, data } = await ask('{ hello }', `Bearer ${await make()}`);
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    expect(data ?? null).toBeNull();
    expect(errors).toHaveLength(1);
    expect(errors?.[0]?.extensions['code']).toBe('UNAUTHENTICATED');
    expect(errors?.[0]?.message).toMatch(reason);
  });

  it.each(['Basic YTpi', 'Bearer', 'Bearer a b', 'token'])('the authorization %j', async (authorization) => {
    const { status, errors } = await ask('{ hello }', authorization);
    expect(status).toBe(401);
    expect(errors?.[0]?.message).toMatch(/the word Bearer/);
  });
});

describe('a lifetime', () => {
  const nowSeconds = 1_800_000_000;
  const verify = createTokenVerifier({
    ...IDENTITY,
    maxLifetimeSeconds: 3_600,
    now: () => new Date(nowSeconds * 1000),
  });
  const signed = (times: { iat?: number; exp: number }) =>
    new SignJWT({ iss: IDENTITY.issuer, aud: IDENTITY.audience, sub: 'acme', roles: ['buyer'], ...times })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(IDENTITY.secret));

  it.each([
    ['issued long ago', { iat: nowSeconds - 86_400, exp: nowSeconds + 60 }],
    ['that ends late', { iat: nowSeconds, exp: nowSeconds + 86_400 }],
    ['without a time of issue', { exp: nowSeconds + 86_400 }],
    ['issued in the future', { iat: nowSeconds + 86_000, exp: nowSeconds + 86_400 }],
  ])('over the limit is refused: a token %s', async (_what, times) => {
    await expect(verify(await signed(times))).rejects.toThrow(/at most 3600 s are accepted/);
  });

  it('within the limit is accepted', async () => {
    const token = await signed({ iat: nowSeconds - 60, exp: nowSeconds + 3_500 });
    await expect(verify(token)).resolves.toMatchObject({ subject: 'acme' });
  });
});

describe('keys from a JWKS address', () => {
  const pair = generateKeyPair('RS256', { extractable: true });
  const jwks = createServer((_request, response) => {
    void publicKeys().then((keys) => response.end(JSON.stringify({ keys })));
  });
  let verify: TokenVerifier;
  let close: () => Promise<void>;

  async function publicKeys() {
    return [{ ...(await exportJWK((await pair).publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }];
  }

  beforeAll(async () => {
    const served = await listenLocally(jwks);
    close = served.close;
    const { issuer, audience } = IDENTITY;
    verify = createTokenVerifier({
      jwksUrl: `${served.url}/keys`,
      issuer,
      audience,
      now: () => new Date(),
    });
  });

  afterAll(() => close());

  it('verify a token of the identity provider', async () => {
    const good = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .sign((await pair).privateKey);
    await expect(verify(good)).resolves.toMatchObject({ subject: 'acme', roles: ['operator'] });
  });

  it('do not verify HS256 signed with the public key as a secret', async () => {
    const [key] = await publicKeys();
    const forged = await signed(claims(), JSON.stringify(key));
    await expect(verify(forged)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('are not read from an endless answer', async () => {
    let bytes = 0;
    const endless = createServer((_request, response) => {
      const write = () => {
        if (response.destroyed) return;
        bytes += 64 * 1024;
        response.write(Buffer.alloc(64 * 1024, ' '), () => setImmediate(write));
      };
      write();
    });
    const { url, close } = await listenLocally(endless);
    const { issuer, audience } = IDENTITY;
    const jwksUrl = `${url}/keys`;
    const ofEndless = createTokenVerifier({ jwksUrl, issuer, audience, now: () => new Date() });
    const token = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .sign((await pair).privateKey);
    await expect(ofEndless(token)).rejects.toMatchObject({
      code: 'OVERLOADED',
      cause: { message: 'its answer is longer than 262144 bytes' },
    });
    expect(bytes).toBeLessThan(16 * 1024 * 1024);
    await close();
  });

  it('do not verify a key of another provider', async () => {
    const other = await generateKeyPair('RS256');
    const forged = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .sign(other.privateKey);
    await expect(verify(forged)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});
