/**
 * docs/partners.md shows the requests that the platform sends to a ramp provider and an indexer, and the
 * answers that it understands.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { createIndexerClient } from '../../../src/indexer/client.ts';
import { readRetirementHints } from '../../../src/indexer/retirementEvent.ts';
import { HOOK_PATHS } from '../../../src/lib/hookUrls.ts';
import { CALLBACK_SIGNATURE_HEADER, createHttpProvider } from '../../../src/ramp/http/httpProvider.ts';
import type { PayoutAccount, QuoteRequest } from '../../../src/ramp/port.ts';
import { blocksOf } from '../../support/docs/blocks.ts';

interface Sent {
  request: string;
  headers: Headers;
  body: unknown;
}

const SECRET = 'one of RAMP_CALLBACK_SECRETS';

let text: Record<'json' | 'sh', string[]>;
beforeAll(async () => {
  const blocks = await blocksOf('docs/partners.md');
  const of = (wanted: string) =>
    blocks.filter(({ language }) => language === wanted).map((block) => block.text);
  text = { json: of('json'), sh: of('sh') };
});

/** Answers each request with the next text, and keeps the requests. */
function partner(...answers: (string | undefined)[]) {
  const sent: Sent[] = [];
  const left = [...answers];
  const answer: typeof fetch = async (url, { method, headers, body } = {}) => {
    const { pathname, search } = url as URL;
    sent.push({
      request: `${method} ${pathname}${search}`,
      headers: new Headers(headers),
      body: typeof body === 'string' ? (JSON.parse(body) as unknown) : undefined,
    });
    return new Response(left.shift(), { status: 200 });
  };
  return { sent, fetch: answer };
}

function providerAt({ fetch: answer }: ReturnType<typeof partner>) {
  return createHttpProvider({
    name: 'ramp',
    // A slash at its end is the same address.
    url: 'https://ramp.example/',
    apiKey: 'key',
    callbackSecrets: [SECRET],
    fetch: answer,
    timeoutMs: 1000,
    throttle: { acquire: async () => {}, pauseFor: () => {}, freeInMs: () => 0 },
  });
}

describe('the ramp provider', () => {
  it('is asked as the page shows, and its answers are understood', async () => {
    const [askedText = '', quoteText = '', requestText = '', payoutText = ''] = text.json;
    const wanted = JSON.parse(requestText) as {
      clientReference: string;
      countryCode: string;
      payoutAccount: PayoutAccount;
    };
    const asked = JSON.parse(askedText) as Omit<QuoteRequest, 'tokenAmount'> & { tokenAmount: string };
    const { id } = JSON.parse(payoutText) as { id: string };
    const server = partner(quoteText, payoutText, `{ "payouts": [${payoutText}] }`, payoutText, payoutText);
    const provider = providerAt(server);
    const quote = await provider.quote({ ...asked, tokenAmount: BigInt(asked.tokenAmount) });
    const { clientReference: reference, countryCode, payoutAccount } = wanted;
    await provider.openSession({ reference, quote, countryCode, payoutAccount });
    const answer = { status: 'pending', fiat: { currency: 'KES', amount: '4925.00' } };
    expect(await provider.findSessionByReference(reference)).toEqual({ sessionId: id, ...answer });
    expect(await provider.getStatus(id)).toEqual({ reference, ...answer });
    expect(await provider.closeSession(id)).toEqual({ reference, ...answer });

    expect(server.sent.map(({ request }) => request)).toEqual([
      'POST /quotes',
      'POST /payouts',
      `GET /payouts?clientReference=${reference}`,
      `GET /payouts/${id}`,
      `POST /payouts/${id}/cancel`,
    ]);
    expect(server.sent[0]?.body).toEqual(asked);
    expect(server.sent[1]?.body).toEqual(wanted);
    expect(server.sent[1]?.headers.get('idempotency-key')).toBe(reference);
    expect(server.sent[1]?.headers.get('authorization')).toBe('Bearer key');
    expect(server.sent[1]?.headers.get('content-type')).toBe('application/json');
  });

  it('signs its callback as the page shows', async () => {
    // A shell function replaces curl and prints each argument of curl on its own line.
    const script = `curl() { printf '%s\\n' "$@"; }\n${text.sh[0]}`;
    const { stdout } = await promisify(execFile)('bash', ['-ec', script]);
    const given = stdout.trimEnd().split('\n');
    const after = (flag: string) => given[given.indexOf(flag) + 1] ?? '';
    expect(given).toContain(`http://localhost:4000${HOOK_PATHS.payoutSettled}`);
    const [name = '', value = ''] = after('-H').split(': ');
    expect(name).toBe(CALLBACK_SIGNATURE_HEADER);
    const callback = { rawBody: Buffer.from(after('-d')), headers: { [name]: value } };
    expect(providerAt(partner()).readCallback(callback)).toEqual({ sessionId: 'po_7Fq2' });
  });
});

describe('the indexer', () => {
  it('answers a registration as the page shows', async () => {
    const registration = text.json[4] ?? '';
    const { url, ...expected } = JSON.parse(registration) as { url: string };
    const server = partner(registration);
    const options = { url: 'https://indexer.example/', fetch: server.fetch, timeoutMs: 1000 };
    expect(await createIndexerClient(options).registerWebhook(url, ['*'])).toEqual({ url, ...expected });
    expect(new URL(url).pathname).toBe(HOOK_PATHS.retirements);
    expect(server.sent[0]).toMatchObject({ request: 'POST /webhooks', body: { url, events: ['*'] } });
    expect(server.sent[0]?.headers.get('content-type')).toBe('application/json');
  });

  it('delivers in the forms that the page shows', () => {
    const [one = '', named = '', ...others] = text.json.slice(5);
    expect(others).toEqual([]);
    const hint = { tokenAddress: 'CDDQ…', recordIndex: 0, txHash: '0x5cb3…' };
    const event = { ...hint, eventId: '0000064424513536-0000000001' };
    const many = JSON.stringify({ id: 'd-2', events: [(JSON.parse(one) as { event: unknown }).event] });
    const read = (body: string) => readRetirementHints(Buffer.from(body));
    expect(read(one)).toEqual([event]);
    expect(read(many)).toEqual([event]);
    expect(read(named)).toEqual([{ ...hint, eventId: null }]);
  });
});
