/**
 * The HTTP ramp provider against a stand-in server on a real socket, alone and with the whole platform.
 */
import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { signBody } from '../../../src/lib/signature.ts';
import { CALLBACK_SIGNATURE_HEADER, createHttpProvider } from '../../../src/ramp/http/httpProvider.ts';
import { createRequestThrottle } from '../../../src/ramp/http/requestThrottle.ts';
import type { OpenSessionRequest, RampProvider } from '../../../src/ramp/port.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { createPayoutHook } from '../../../src/webhooks/payoutSettled.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { RAMP_API_KEY, startRampServer, type RampServer } from '../../../devnet/rampServer.ts';
import {
  ACCOUNT_NUMBER,
  activeReceipt,
  cashOutInput,
  depositedCashOut,
  farmer,
  reaches,
} from '../../support/warehouse.ts';

const CALLBACK_SECRET = 'the secret that callbacks are signed with';
const OLD_SECRET = 'the secret that is being replaced just now';

let server: RampServer;
let provider: RampProvider;

beforeAll(async () => {
  server = await startRampServer();
  provider = createHttpProvider(options());
});
afterEach(() => server.misbehave(null));
afterAll(() => server.close());

const options = () => ({
  name: 'ramp',
  url: server.url,
  apiKey: RAMP_API_KEY,
  callbackSecrets: [CALLBACK_SECRET, OLD_SECRET],
  fetch,
  timeoutMs: 500,
  throttle: createRequestThrottle(1000),
});

const quoteRequest = { tokenAmount: 100n, tokenSymbol: 'WHR', fiatCurrency: 'KES' };

/** A provider that gives these answers, and the requests that it gets. */
function answering(...answers: (() => Response)[]): { provider: RampProvider; asked: Asked[] } {
  const asked: Asked[] = [];
  const answer: typeof fetch = async (url, init) => {
    const { pathname } = new URL(url instanceof Request ? url.url : url);
    asked.push({ method: init?.method, pathname, headers: new Headers(init?.headers) });
    const next = answers[asked.length - 1];
    if (next === undefined) throw new Error('no such request is expected');
    return next();
  };
  return { provider: createHttpProvider({ ...options(), url: `${server.url}/v1`, fetch: answer }), asked };
}

interface Asked {
  method: string | undefined;
  pathname: string;
  headers: Headers;
}

async function request(): Promise<OpenSessionRequest> {
  return {
    reference: randomUUID(),
    quote: await provider.quote(quoteRequest),
    countryCode: 'KE',
    payoutAccount: { type: 'bank', accountNumber: ACCOUNT_NUMBER, bankCode: '01', accountName: 'A. Farmer' },
  };
}

describe('the adapter', () => {
  it('quotes in exact decimals', async () => {
    expect(await provider.quote(quoteRequest)).toMatchObject({
      ...quoteRequest,
      fiatAmount: '4925.00',
      fiatFee: '75.00',
      exchangeRate: '0.02',
      expiresAt: expect.any(Date) as Date,
    });
  });

  it('says where and to what kind of account it would be paid, and takes a fee that has no rate', async () => {
    const asked = { ...quoteRequest, countryCode: 'KE', payoutAccountType: 'bank' as const };
    expect(await provider.quote(asked)).toMatchObject({ ...quoteRequest, fiatFee: '75.00', feeBps: null });
    expect(server.requests.at(-1)?.body).toEqual({ ...asked, tokenAmount: '100' });
    const flat = createHttpProvider({
      ...options(),
      fetch: async (...sent) => {
        const quote = (await (await fetch(...sent)).json()) as object;
        return Response.json({ ...quote, feeBps: null });
      },
    });
    expect(await flat.quote(quoteRequest)).toMatchObject({ feeBps: null });
  });

  it.each(['0000-06-01T00:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59-14:00'])(
    'takes a quote until %s for no answer',
    async (expiresAt) => {
      const dated = createHttpProvider({
        ...options(),
        fetch: async (...asked) => {
          const quote = (await (await fetch(...asked)).json()) as object;
          return Response.json({ ...quote, expiresAt });
        },
      });
      await expect(dated.quote(quoteRequest)).rejects.toMatchObject({ code: 'RAMP_UNAVAILABLE' });
    },
  );

  it('opens a session under our reference, with the account as providers want it', async () => {
    const open = await request();
    const { sessionId, status } = await provider.openSession(open);
    expect(status).toBe('pending');
    expect(server.payouts.get(sessionId)?.request).toMatchObject({
      clientReference: open.reference,
      tokenAmount: '100',
      fiatAmount: '4925.00',
      countryCode: 'KE',
      payoutAccount: { type: 'bank', accountNumber: ACCOUNT_NUMBER, bankCode: '01' },
    });
    expect(server.requests.at(-1)?.authorization).toBe(`Bearer ${RAMP_API_KEY}`);
    expect(await provider.findSessionByReference(open.reference)).toEqual({ sessionId, status });
    expect(await provider.findSessionByReference(randomUUID())).toBeNull();
  });

  it('shows what is paid where the provider repeats it, in whatever form it writes numbers', async () => {
    const open = await request();
    const { sessionId } = await provider.openSession(open);
    const payout = server.payouts.get(sessionId) ?? {};
    const find = () => provider.findSessionByReference(open.reference);
    Object.assign(payout, { fiatCurrency: 'KES', fiatAmount: '4925.00' });
    const fiat = { currency: 'KES', amount: '4925.00' };
    expect(await find()).toMatchObject({ sessionId, fiat });
    expect(await provider.openSession(open)).toMatchObject({ sessionId, fiat });
    const answer = { status: 'pending', reference: open.reference };
    expect(await provider.getStatus(sessionId)).toEqual({ ...answer, fiat });
    for (const [fiatAmount, amount] of [
      [492.5, '492.5'],
      ['-4925.00', '-4925.00'],
      ['4,925.00', '4,925.00'],
      [null, undefined],
      // These values are not shown, and do not count as the requested amount.
      ...['to account 254700123456', 'KES 1.00', '', '１.００', ['1.00'], { value: '1.00' }, true]
        .concat('9'.repeat(65))
        .map((form) => [form, '(unreadable)']),
    ]) {
      Object.assign(payout, { fiatAmount });
      expect(await find()).toEqual({ sessionId, status: 'pending', fiat: { currency: 'KES', amount } });
    }
    for (const fiatCurrency of [404, '', '£', 'K'.repeat(65)]) {
      Object.assign(payout, { fiatCurrency, fiatAmount: '4925.00' });
      const unreadable = { currency: '(unreadable)', amount: '4925.00' };
      expect(await provider.getStatus(sessionId)).toEqual({ ...answer, fiat: unreadable });
    }
    Object.assign(payout, { fiatCurrency: undefined, fiatAmount: 4925 });
    expect(await provider.getStatus(sessionId)).toEqual({ ...answer, fiat: { amount: '4925' } });
    Object.assign(payout, { fiatAmount: undefined });
    expect(await provider.getStatus(sessionId)).toEqual(answer);
  });

  it.each(['.', '..'])('takes %s for no id, which would lead to another path', async (id) => {
    const mistaken = createHttpProvider({
      ...options(),
      fetch: async (...asked) => Response.json({ ...((await (await fetch(...asked)).json()) as object), id }),
    });
    await expect(mistaken.openSession(await request())).rejects.toMatchObject({
      code: 'RAMP_UNAVAILABLE',
      message: expect.stringContaining('see id') as string,
    });
  });

  it('gets the same session for the same reference, also where the provider refuses a repeat', async () => {
    const open = await request();
    const first = await provider.openSession(open);
    expect(await provider.openSession(open)).toEqual(first);
  });

  it('finds the session of an open whose answer never came', async () => {
    const open = await request();
    server.misbehave('hang-after-effect');
    await expect(provider.openSession(open)).rejects.toMatchObject({ code: 'RAMP_UNAVAILABLE' });
    server.misbehave(null);
    expect(await provider.findSessionByReference(open.reference)).toMatchObject({ status: 'pending' });
  });

  it('closes what is not paid yet, and says so of what is', async () => {
    const unpaid = await provider.openSession(await request());
    expect(await provider.closeSession(unpaid.sessionId)).toMatchObject({ status: 'failed' });
    expect(await provider.closeSession(unpaid.sessionId)).toMatchObject({ status: 'failed' });
    const paid = await provider.openSession(await request());
    const payout = server.payouts.get(paid.sessionId);
    if (payout) payout.status = 'settled';
    expect(await provider.closeSession(paid.sessionId)).toMatchObject({ status: 'settled' });
    expect(await provider.getStatus(paid.sessionId)).toMatchObject({ status: 'settled' });
    await expect(provider.getStatus(randomUUID())).rejects.toMatchObject({ code: 'RAMP_REFUSED' });
  });

  it('takes every answer that makes no sense for "unknown", never for a refusal', async () => {
    const open = await request();
    const { sessionId } = await provider.openSession(open);
    for (const how of ['hang', 'server-error', 'bad-key', 'endless', 'not-json', 'wrong-form'] as const) {
      server.misbehave(how);
      const calls = [
        provider.openSession(open),
        provider.getStatus(sessionId),
        provider.findSessionByReference(open.reference),
        provider.closeSession(sessionId),
        provider.quote(quoteRequest),
      ];
      for (const call of await Promise.allSettled(calls)) {
        expect(call, how).toMatchObject({ status: 'rejected', reason: { code: 'RAMP_UNAVAILABLE' } });
        expect(String((call as PromiseRejectedResult).reason), how).not.toContain(ACCOUNT_NUMBER);
      }
    }
    server.misbehave('other-reference');
    await expect(provider.openSession(await request())).rejects.toMatchObject({ code: 'RAMP_UNAVAILABLE' });
    server.misbehave('other-payout');
    for (const call of [provider.getStatus(sessionId), provider.closeSession(sessionId)]) {
      await expect(call).rejects.toMatchObject({ code: 'RAMP_UNAVAILABLE' });
    }
  });

  it.each([
    ['fiatCurrency', 'UGX'],
    ['tokenAmount', '99'],
    ['tokenSymbol', 'OTHER'],
  ])('takes a quote with another %s for no answer', async (field, value) => {
    const mistaken = createHttpProvider({
      ...options(),
      fetch: async (...asked) => {
        const quote = (await (await fetch(...asked)).json()) as object;
        return Response.json({ ...quote, [field]: value });
      },
    });
    await expect(mistaken.quote(quoteRequest)).rejects.toMatchObject({
      code: 'RAMP_UNAVAILABLE',
      message: expect.stringMatching(new RegExp(`: its quote is for another ${field}$`)) as string,
    });
  });

  it.each([
    [
      'the members that have another form',
      { fiatAmount: `no. ${ACCOUNT_NUMBER}`, exchangeRate: '1e3', fiatFee: '-1', feeBps: 1.5 },
      'see fiatAmount, exchangeRate, fiatFee, feeBps',
    ],
    ['that nothing of it is as asked', [ACCOUNT_NUMBER], 'unknown form'],
    ['that it is no JSON', `<p>${ACCOUNT_NUMBER}</p>`, 'is not JSON'],
    ['that it is a redirect', null, 'redirect'],
  ])('says of an answer %s, and repeats nothing of it', async (_what, answer, reason) => {
    const mistaken = createHttpProvider({
      ...options(),
      fetch: async (...asked) => {
        if (answer === null) throw new TypeError('fetch failed', { cause: new Error('unexpected redirect') });
        const quote = (await (await fetch(...asked)).json()) as object;
        if (typeof answer === 'string') return new Response(answer);
        return Response.json(Array.isArray(answer) ? answer : { ...quote, ...answer });
      },
    });
    const failure: unknown = await mistaken.quote(quoteRequest).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'RAMP_UNAVAILABLE' });
    expect(String(failure)).toContain(reason);
    // The log shows the cause, too.
    expect(inspect(failure)).not.toContain(ACCOUNT_NUMBER);
  });

  it.each([401, 403, 407, 408, 425, 429])('takes status %i for no refusal', async (status) => {
    const busy = createHttpProvider({
      ...options(),
      fetch: async () => Response.json({ code: 'busy' }, { status }),
    });
    await expect(busy.getStatus('abc')).rejects.toMatchObject({ code: 'RAMP_UNAVAILABLE' });
  });

  it('takes no other payout for the one of a reference, where the provider answers with all', async () => {
    const open = await request();
    const { sessionId } = await provider.openSession(open);
    const payouts = [randomUUID(), open.reference].map((clientReference, i) => ({
      id: i === 0 ? 'another' : sessionId,
      clientReference,
      status: 'settled',
    }));
    const all = createHttpProvider({ ...options(), fetch: async () => Response.json({ payouts }) });
    expect(await all.findSessionByReference(open.reference)).toMatchObject({ sessionId });
    // A page of other payouts does not show that there is none: a further page may have it.
    await expect(all.findSessionByReference(randomUUID())).rejects.toMatchObject({
      code: 'RAMP_UNAVAILABLE',
      message: expect.stringMatching(/its answer is about other references$/) as string,
    });
  });

  it('opens under an idempotency key, and takes an open without an answer for "unknown" though a look-up shows none', async () => {
    const open = await request();
    const down = answering(
      () => Response.json({}, { status: 503 }),
      () => Response.json({ payouts: [] }),
    );
    await expect(down.provider.openSession(open)).rejects.toMatchObject({ code: 'RAMP_UNAVAILABLE' });
    expect(down.asked.map(({ headers }) => headers.get('idempotency-key'))).toEqual([open.reference]);
  });

  it('believes no well-formed answer with the status of a failure, or of more bytes than a payout has', async () => {
    const payout = { id: 'abc', clientReference: randomUUID(), status: 'settled' };
    const ask = (body: object, init?: ResponseInit) =>
      answering(() => Response.json(body, init)).provider.getStatus('abc');
    expect(await ask(payout)).toMatchObject({ status: 'settled' });
    const unknown = { code: 'RAMP_UNAVAILABLE' };
    await expect(ask(payout, { status: 500 })).rejects.toMatchObject(unknown);
    await expect(ask({ ...payout, more: 'x'.repeat(64 * 1024) })).rejects.toMatchObject(unknown);
  });

  it('asks about an id with any visible character under its own path, below the base address', async () => {
    const id = '../a/b?c=d#e%2f';
    const payout = { id, clientReference: randomUUID(), status: 'pending' };
    const answer = () => Response.json(payout);
    const { provider: below, asked } = answering(answer, answer);
    await below.getStatus(id);
    await below.closeSession(id);
    const path = `/v1/payouts/${encodeURIComponent(id)}`;
    expect(asked.map(({ pathname }) => pathname)).toEqual([path, `${path}/cancel`]);
  });

  it('shows the one that may be paid, of several under one reference, and how many others have not failed', async () => {
    const { reference: clientReference } = await request();
    const find = async (...statuses: string[]) => {
      const payouts = statuses.map((status) => ({ id: status, clientReference, status }));
      const all = createHttpProvider({ ...options(), fetch: async () => Response.json({ payouts }) });
      return all.findSessionByReference(clientReference);
    };
    expect(await find('failed', 'settled')).toEqual({ sessionId: 'settled', status: 'settled' });
    const all = ['failed', 'pending', 'refunded', 'processing', 'settled'];
    for (const [at, status] of all.entries()) {
      const others = Math.max(at - 1, 0);
      expect(await find(...all.slice(0, at + 1))).toEqual({
        sessionId: status,
        status,
        ...(others > 0 && { others }),
      });
    }
    expect(await find('failed', 'failed')).toEqual({ sessionId: 'failed', status: 'failed' });
    // Each id is the status: this is one payout, shown twice.
    expect(await find('settled', 'settled')).toEqual({ sessionId: 'settled', status: 'settled' });
  });

  it('asks about no payout whose cancellation has no answer: another time-out would pass', async () => {
    const down = answering(() => Response.json({}, { status: 503 }));
    await expect(down.provider.closeSession('abc')).rejects.toMatchObject({
      code: 'RAMP_UNAVAILABLE',
      message: expect.stringContaining('POST /payouts/abc/cancel') as string,
    });
    expect(down.asked).toHaveLength(1);
  });

  it('follows no redirection, which would take the key elsewhere', async () => {
    const redirects: unknown[] = [];
    const noting = createHttpProvider({
      ...options(),
      fetch: (url, init) => (redirects.push(init?.redirect), fetch(url, init)),
    });
    await noting.quote(quoteRequest);
    expect(redirects).toEqual(['error']);
  });

  it.each([-1, 10_001])('takes a quote with a fee of %i basis points for no answer', async (feeBps) => {
    const quote = { ...quoteRequest, tokenAmount: '100', fiatAmount: '1', fiatFee: '0', exchangeRate: '1' };
    const expiresAt = new Date(Date.now() + 600_000).toISOString();
    const { provider: mistaken } = answering(() => Response.json({ ...quote, expiresAt, feeBps }));
    await expect(mistaken.quote(quoteRequest)).rejects.toMatchObject({
      code: 'RAMP_UNAVAILABLE',
      message: expect.stringContaining('see feeBps') as string,
    });
  });

  it('quotes no payout of nothing', async () => {
    server.misbehave('zero-amount');
    await expect(provider.quote(quoteRequest)).rejects.toMatchObject({
      code: 'RAMP_REFUSED',
      details: { field: 'tokenAmount' },
    });
    server.misbehave('zero-rate');
    await expect(provider.quote(quoteRequest)).rejects.toMatchObject({ code: 'RAMP_UNAVAILABLE' });
  });

  it('reports a refusal without repeating the payout account', async () => {
    const open = await request();
    server.misbehave('refuse');
    await expect(provider.quote(quoteRequest)).rejects.toMatchObject({
      code: 'RAMP_REFUSED',
      details: { providerHttpStatus: expect.any(Number) },
    });
    const opening = await provider.openSession(open).then(
      () => '',
      (error: Error) => `${error.name} ${error.message}`,
    );
    expect(opening).toContain('account_blocked');
    expect(opening).not.toContain(ACCOUNT_NUMBER);
  });

  it('passes on no code that may have the payout account', async () => {
    const refusing = (code: string) =>
      createHttpProvider({
        ...options(),
        fetch: async () => Response.json({ code }, { status: 422 }),
      }).getStatus('abc');
    const shown = 'The ramp provider refused: 500.001.1001.';
    await expect(refusing('500.001.1001')).rejects.toThrow(shown);
    for (const code of [ACCOUNT_NUMBER, `blocked_${ACCOUNT_NUMBER}`, 'KE12BANK0012345678']) {
      await expect(refusing(code)).rejects.toThrow('The ramp provider refused: status 422.');
    }
  });

  it('believes callbacks that are signed with a live secret, over exactly these bytes', () => {
    const rawBody = Buffer.from('{"sessionId":"abc"}');
    const signed = (header: string | undefined, body = rawBody) =>
      provider.readCallback({ rawBody: body, headers: { 'x-ramp-signature': header } });
    expect(signed(signBody(CALLBACK_SECRET, rawBody))).toEqual({ sessionId: 'abc' });
    expect(signed(signBody(OLD_SECRET, rawBody))).toEqual({ sessionId: 'abc' });
    const unverified = { refusal: 'unverified' };
    expect(signed(signBody('some other secret', rawBody))).toEqual(unverified);
    expect(signed(signBody(CALLBACK_SECRET, rawBody), Buffer.from('{"sessionId":"abd"}'))).toEqual(
      unverified,
    );
    expect(signed(undefined)).toEqual(unverified);
    // The database can't look for a text with a NUL.
    for (const other of ['["abc"]', '{"sessionId":"a\\u0000"}', '{"sessionId":"a b"}'].map((text) =>
      Buffer.from(text),
    )) {
      expect(signed(signBody(CALLBACK_SECRET, other), other)).toEqual({ refusal: 'not-a-callback' });
    }
  });
});

describe('the throttle', () => {
  it('spaces requests, refuses one that would wait too long, and shortens no pause', async () => {
    const throttle = createRequestThrottle(0.001);
    await throttle.acquire();
    expect(throttle.freeInMs()).toBeGreaterThan(100_000);
    throttle.pauseFor(1);
    expect(throttle.freeInMs()).toBeGreaterThan(100_000);
    await expect(throttle.acquire()).rejects.toThrow('no request is free for');
  });

  it('lets through no request that waits already when a pause begins', async () => {
    const throttle = createRequestThrottle(10);
    await throttle.acquire();
    const waiting = throttle.acquire();
    throttle.pauseFor(60_000);
    throttle.pauseFor(1);
    await expect(waiting).rejects.toThrow('no request is free for');
  });

  it('lets a request that waits already wait for the end of a short pause', async () => {
    const throttle = createRequestThrottle(100);
    await throttle.acquire();
    const waiting = throttle.acquire();
    throttle.pauseFor(100);
    expect(await waiting).toBeUndefined();
  });
});

describe('the whole with an HTTP provider', () => {
  let marketplace: Marketplace;

  beforeAll(async () => {
    marketplace = await startMarketplace({
      withIndexer: false,
      ramp: {
        kind: 'http',
        name: 'ramp',
        url: server.url,
        apiKey: RAMP_API_KEY,
        callbackSecrets: [CALLBACK_SECRET],
        requestsPerSecond: 1000,
      },
    });
  });
  afterAll(async () => {
    const report = await reconcileAll(marketplace.app.dependencies);
    await marketplace.stop();
    expect(report.findings).toEqual([]);
    // The provider does not repeat the amount that it pays.
    expect(report.notProved).toMatchObject([{ invariant: 'I13', obstacle: 'NO_DATA' }]);
  });

  const webhookUrl = () => new URL('/api/webhooks/payout-settled', marketplace.url).href;

  it('pays out: opened, deposited, called back, confirmed', async () => {
    const session = await depositedCashOut(marketplace.app);
    const payout = server.payouts.get(session.providerSessionId);
    expect(payout?.clientReference).toBe(session.id);
    if (payout) payout.status = 'settled';
    expect(await server.callBack(webhookUrl(), session.providerSessionId, CALLBACK_SECRET)).toBe(200);
    await reaches(marketplace.app, session.id, 'SETTLED');
  });

  it('is asked for a price with the country and the kind of account, and pays out for a flat fee', async () => {
    const quotes = () => server.requests.filter(({ path }) => path === '/quotes').map(({ body }) => body);
    const { payoutAccount } = await request();
    const session = await depositedCashOut(marketplace.app, undefined, { payoutAccount });
    expect(session).toMatchObject({ fiatFee: '75.00', feeBps: null });
    expect(quotes().at(-1)).toMatchObject({ countryCode: 'KE', payoutAccountType: 'bank' });
    const payout = server.payouts.get(session.providerSessionId);
    if (payout) payout.status = 'settled';
    await server.callBack(webhookUrl(), session.providerSessionId, CALLBACK_SECRET);
    await reaches(marketplace.app, session.id, 'SETTLED');

    const { data } = await marketplace.send<{ offRampQuote: object }>(
      '{ offRampQuote(tokenAmount: 1, fiatCurrency: "KES", countryCode: "UG", payoutAccountType: BANK) { feeBps } }',
      {},
      { role: 'farmer', subject: 'farmer-1' },
    );
    expect(data?.offRampQuote).toEqual({ feeBps: null });
    expect(quotes().at(-1)).toMatchObject({ countryCode: 'UG', payoutAccountType: 'bank' });
  });

  it('refunds what the provider failed to pay', async () => {
    const session = await depositedCashOut(marketplace.app);
    const payout = server.payouts.get(session.providerSessionId);
    if (payout) payout.status = 'failed';
    await server.callBack(webhookUrl(), session.providerSessionId, CALLBACK_SECRET);
    expect(await reaches(marketplace.app, session.id, 'REFUNDED')).toMatchObject({
      providerStatus: 'failed',
    });
  });

  it('does not even look when a callback is not signed by the provider', async () => {
    const session = await depositedCashOut(marketplace.app);
    expect(await server.callBack(webhookUrl(), session.providerSessionId, OLD_SECRET)).toBe(200);
    const body = Buffer.from(JSON.stringify({ sessionId: session.providerSessionId }));
    const headers = { [CALLBACK_SIGNATURE_HEADER]: signBody(OLD_SECRET, body) };
    const delivery = { body, headers, requestId: 'r', remoteAddress: '127.0.0.1' };
    expect(await createPayoutHook(marketplace.app.dependencies)(delivery)).toBe('unverified');
    expect(await findOffRampSession(marketplace.app.dependencies, session.id)).toMatchObject({ hints: 0 });
  });

  it('refuses a cash-out that the provider refuses, and takes no tokens', async () => {
    const receipt = await activeReceipt(marketplace.app);
    server.misbehave('refuse');
    const refused = cashOut(marketplace.app.dependencies, farmer, cashOutInput(receipt));
    await expect(refused).rejects.toMatchObject({ code: 'RAMP_REFUSED' });
  });
});
