/**
 * Foreign text that PostgreSQL can't store or compare: every entry point treats it as bad input or as
 * unknown, and no statement fails.
 */
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { signBody } from '../../../src/lib/signature.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import { CALLBACK_SIGNATURE_HEADER } from '../../../src/ramp/http/httpProvider.ts';
import { makeBelongings, MUTATIONS, QUERIES, type Belongings } from '../../support/http/accessTable.ts';
import { askOver } from '../../support/http/askOver.ts';
import { storeRegistration } from '../../support/indexerRegistrations.ts';
import { startMarketplace, tokenOf, type Marketplace } from '../../support/http/marketplace.ts';
import { startRampServer, type RampServer } from '../../../devnet/rampServer.ts';

const SECRET = 'what the provider signs its callbacks with';
/** A NUL, halves of surrogate pairs, noncharacters, and a text too long for an index. */
const TEXTS = ['a\u0000b', '\u0000', '\ud800', 'x\udc00y', '\uffff', '\u0007', '\u202e', 'é'.repeat(3000)];

const lines: { level: number; msg: string }[] = [];
const log = createLogger(
  { level: 'warn', pretty: false },
  { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) },
);
let provider: RampServer;
let market: Marketplace;
/** The same database with a provider that signs its callbacks. */
let withProvider: Marketplace;
let own: Belongings;

beforeAll(async () => {
  provider = await startRampServer();
  market = await startMarketplace({ log });
  own = await makeBelongings(market);
  withProvider = await startMarketplace({
    log,
    database: market.database,
    ramp: {
      kind: 'http',
      name: 'ramp',
      url: provider.url,
      apiKey: 'key',
      callbackSecrets: [SECRET],
      requestsPerSecond: 1000,
    },
  });
});
beforeEach(() => void lines.splice(0));
afterAll(async () => {
  await withProvider.stop();
  await market.stop();
  await provider.close();
});

const failures = () =>
  lines.filter(({ level, msg }) => level >= 50 || /query|defect|kept for later/i.test(msg));

async function post(to: Marketplace, path: string, body: string, headers: Record<string, string> = {}) {
  const response = await fetch(new URL(path, to.url), { method: 'POST', body, headers });
  return { status: response.status, body: await response.text() };
}

describe.each(TEXTS.map((text) => [JSON.stringify(text).slice(0, 20), text]))('%s', (_shown, text) => {
  it('in a payout callback is a hint at nothing', async () => {
    const body = JSON.stringify({ sessionId: text });
    const signed = { [CALLBACK_SIGNATURE_HEADER]: signBody(SECRET, Buffer.from(body)) };
    const asked = provider.requests.length;
    expect(await post(market, '/api/webhooks/payout-settled', body)).toEqual({ status: 200, body: '' });
    expect(await post(withProvider, '/api/webhooks/payout-settled', body, signed)).toEqual({
      status: 200,
      body: '',
    });
    expect(provider.requests).toHaveLength(asked);
    expect(failures()).toEqual([]);
  });

  it('in a signed delivery of the indexer is a hint at nothing', async () => {
    const secret = randomUUID();
    await storeRegistration(market.app.dependencies, secret, { isReplaced: true });
    const event = {
      id: randomUUID(),
      contract: own.tokenAddress,
      eventType: 'retired',
      ledger: 7,
      txHash: 'ab',
      data: { topics: [own.tokenAddress], value: ['5', 'another beneficiary', 0, '7'] },
    };
    const data = {
      beneficiary: 'another beneficiary',
      contract: own.tokenAddress,
      index: 0,
      txHash: 'ab',
      tokenAddress: 'x',
    };
    const bodies = [
      ...withEachText({ event }, text),
      ...withEachText({ eventType: 'retired', data }, text),
      { event: { ...event, ledger: Number.MAX_SAFE_INTEGER } },
    ].map((body) => JSON.stringify(body));
    for (const body of bodies) {
      const headers = { 'x-service-signature': signBody(secret, Buffer.from(body)) };
      expect(await post(market, '/api/hooks/retirements', body, headers)).toMatchObject({ status: 200 });
    }
    expect(failures()).toEqual([]);
  });

  it('in a token or a key is of no caller', async () => {
    const claims = { roles: ['warehouse'], iss: 'tests', aud: 'tests' };
    const sign = (sub: string, more: object = {}) =>
      new SignJWT({ ...claims, sub, ...more })
        .setProtectedHeader({ alg: 'HS256' })
        .setExpirationTime('1h')
        .sign(new TextEncoder().encode('a bearer secret for tests, of more than 32 bytes'));
    const bearers = [await sign(text), await sign('acme', { warehouseIds: [text] })];
    for (const bearer of bearers) {
      const reply = await askOver('http', market.url, { query: '{ ledgerNetwork { name } }', bearer });
      expect(reply.errors.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHENTICATED']);
    }
    expect(failures()).toEqual([]);
  });

  it('in any argument of any operation is the asker’s mistake', async () => {
    const bearer = await tokenOf({ role: 'admin', subject: 'acme' });
    let asked = 0;
    for (const { query, variables } of [...OPERATIONS, ...FILTERED]) {
      for (const changed of withEachText(variables?.(own) ?? {}, text)) {
        const reply = await askOver('http', market.url, {
          query,
          variables: changed,
          bearer,
        });
        asked += 1;
        const codes = reply.errors.map(({ extensions }) => extensions.code);
        const shown = JSON.stringify({ query, changed, codes }).slice(0, 400);
        expect(codes, shown).not.toContain('INTERNAL_SERVER_ERROR');
        expect(reply.status ?? 200, shown).toBeLessThan(500);
        expect(failures(), shown).toEqual([]);
      }
    }
    // A lower count means that the table has lost its variables.
    expect(asked).toBeGreaterThan(60);
  });
});

/** All operations except the one that moves the network's clock and waits. */
const OPERATIONS = [...Object.entries(QUERIES), ...Object.entries(MUTATIONS)]
  .filter(([name]) => name !== 'advanceNetworkClock')
  .map(([, rule]) => rule);

const list = (name: string, type: string, filter: (own: Belongings) => object) => ({
  query: `query ($filter: ${type}, $after: String) { ${name}(first: 1, filter: $filter, after: $after) { edges { cursor } } }`,
  variables: (belongings: Belongings) => ({ filter: filter(belongings), after: 'MQ' }),
});
const FILTERED = [
  list('offRampSessions', 'OffRampSessionFilter', ({ receiptTokenAddress }) => ({
    receiptTokenAddresses: [receiptTokenAddress],
    farmerIds: ['acme'],
  })),
  list('apiKeys', 'ApiKeyFilter', () => ({ subjects: ['acme'] })),
  list('auditEntries', 'AuditEntryFilter', ({ receiptId }) => ({
    apiKeyIds: [receiptId],
    callerSubjects: ['acme'],
    fields: ['retire'],
    requestIds: ['x'],
    targetIds: [receiptId],
  })),
  list('projects', 'ProjectFilter', () => ({
    countryCodes: ['KE'],
    creditTypes: ['VCU'],
    projectTypes: ['REDD+'],
  })),
  list('receipts', 'ReceiptFilter', ({ tokenAddress }) => ({
    tokenAddresses: [tokenAddress],
    farmerAddresses: [tokenAddress],
    farmerIds: ['acme'],
    warehouseIds: ['acme'],
    lenderIds: ['acme'],
    commodityTypes: ['Maize'],
  })),
  list('retirements', 'RetirementFilter', ({ tokenAddress }) => ({
    buyerIds: ['acme'],
    tokenAddresses: [tokenAddress],
  })),
];

/** Copies of the value, each with one of its texts replaced. */
function withEachText(value: unknown, text: string): unknown[] {
  if (typeof value === 'string') return [text];
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => withEachText(item, text).map((changed) => value.with(i, changed)));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    withEachText(item, text).map((changed) => ({ ...value, [name]: changed })),
  );
}
