/**
 * The carbon marketplace for its clients: over HTTP and websockets, from the submission to the live feed.
 */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DatabaseHandle } from '../../../src/db/connection.ts';
import { createBooks } from '../../../src/ledger/books/books.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { purchase as purchaseOn } from '../../../src/resolvers/carbon/purchase.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import {
  buyer,
  developer,
  newToken as newTokenOn,
  operator,
  projectInput,
} from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';

let market: Marketplace;

beforeAll(async () => {
  market = await startMarketplace();
});
afterAll(async () => {
  const report = await reconcileAll(market.app.dependencies);
  await market.stop();
  expect(report.findings).toEqual([]);
});

const CREATE = `mutation ($input: CreateProjectInput!) {
  createProject(input: $input) { tokenAddress txHash project { id assetId state unsoldTonnes } } }`;
const PURCHASE = `mutation ($input: PurchaseInput!) { purchase(input: $input) { purchase { id tonnes } } }`;
const RETIRE = `mutation ($input: RetireInput!) {
  retire(input: $input) { txHash retirement { id state recordIndex } } }`;
const REGISTRY = `query ($tokenAddress: Address!) { registry(tokenAddress: $tokenAddress) {
  totalRetired totalRetirements records { index beneficiary note amount tonnes retiredBy timestamp txHash } } }`;

interface Created {
  createProject: { tokenAddress: string; txHash: string; project: { id: string; state: string } };
}

const newToken = (quantityCO2e: number = 1000) => newTokenOn(market, { quantityCO2e });

const purchase = (
  buyerId: string,
  tokenAddress: string,
  amountCO2e: unknown,
  idempotencyKey: string = randomUUID(),
) => market.send(PURCHASE, { input: { buyerId, tokenAddress, amountCO2e, idempotencyKey } }, buyer(buyerId));

const retire = (
  buyerId: string,
  tokenAddress: string,
  amountCO2e: unknown,
  overrides: Record<string, unknown> = {},
) =>
  market.send<{ retire: { txHash: string; retirement: { id: string; state: string } } }>(
    RETIRE,
    {
      input: {
        buyerId,
        buyerName: `${buyerId} Ltd`,
        tokenAddress,
        amountCO2e,
        note: '',
        idempotencyKey: randomUUID(),
        ...overrides,
      },
    },
    buyer(buyerId),
  );

describe('from submission to registry', () => {
  it('goes from creation to retirement', async () => {
    const created = await market.send<Created>(
      CREATE,
      { input: { ...projectInput(), idempotencyKey: randomUUID() } },
      developer,
    );
    expect(created.errors).toEqual([]);
    expect(created.data?.createProject).toMatchObject({ project: { state: 'OPEN', unsoldTonnes: '1000' } });
    const tokenAddress = created.data?.createProject.tokenAddress ?? '';

    expect((await purchase('acme', tokenAddress, 600)).errors).toEqual([]);
    const retired = await retire('acme', tokenAddress, '250', { note: 'travel' });
    expect(retired.data?.retire.retirement).toMatchObject({ state: 'RETIRED', recordIndex: 0 });

    const registry = await market.send(REGISTRY, { tokenAddress });
    expect(registry.data).toMatchObject({
      registry: {
        totalRetired: '250000000000000000000',
        totalRetirements: 1,
        records: [
          {
            index: 0,
            beneficiary: 'acme Ltd',
            note: 'travel',
            amount: '250000000000000000000',
            tonnes: '250',
            retiredBy: market.network.custodyAddress,
            txHash: retired.data?.retire.txHash,
          },
        ],
      },
    });
  });

  it('takes a note that is null, empty or left out for the same request', async () => {
    const tokenAddress = await newToken();
    await purchase('acme', tokenAddress, 10);
    const idempotencyKey = randomUUID();
    const answers = [];
    for (const note of [null, '', undefined])
      answers.push(await retire('acme', tokenAddress, 4, { note, idempotencyKey }));
    expect(answers.flatMap(({ errors }) => errors)).toEqual([]);
    expect(new Set(answers.map(({ data }) => data?.retire.retirement.id)).size).toBe(1);
    const registry = await market.send(REGISTRY, { tokenAddress });
    expect(registry.data).toMatchObject({ registry: { records: [{ note: '', tonnes: '4' }] } });
  });

  it('keeps books, network and feed in agreement through 200 concurrent purchases and retirements', async () => {
    const tokenAddress = await newToken(5000);
    const buyers = ['ann', 'ben', 'cem', 'dee'];
    for (const id of buyers) await purchase(id, tokenAddress, 300);
    const seen: number[] = [];
    const unfollow = market.socket().subscribe<{ retirementFeed: { record: { index: number } } }>(
      {
        query: `subscription ($t: Address!) { retirementFeed(tokenAddress: $t, after: "0") { record { index } } }`,
        variables: { t: tokenAddress },
      },
      {
        next: ({ data }) => seen.push(data?.retirementFeed.record.index ?? -1),
        error: () => undefined,
        complete: () => undefined,
      },
    );
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => {
        const id = buyers[i % buyers.length] ?? '';
        return i % 2 === 0 ? purchase(id, tokenAddress, 1 + (i % 7)) : retire(id, tokenAddress, 1 + (i % 5));
      }),
    );
    expect(answers.flatMap((answer) => answer.errors)).toEqual([]);
    await expect.poll(() => seen.length).toBe(100);
    unfollow();
    expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => i));
    const reconciliation = await market.send(
      `query ($t: Address!) { reconciliation(tokenAddress: $t) { agrees findings { message } } }`,
      { t: tokenAddress },
      operator,
    );
    expect(reconciliation.data).toEqual({ reconciliation: { agrees: true, findings: [] } });
  });
});

describe('bad input changes nothing and says why', () => {
  const LRO = '\u202D';
  const amounts: [string, unknown][] = [
    ['zero', 0],
    ['negative', -5],
    ['decimal', 1.5],
    ['decimal text', '1.5'],
    ['2^63', '9223372036854775808'],
    ['2^200', (2n ** 200n).toString()],
    ['exponent', '1e3'],
    ['hexadecimal', '0x10'],
    ['a space', ' 1'],
    ['Arabic digits', '١٢'],
    ['wrong type', true],
    ['an object', {}],
    ['null', null],
  ];
  it.each(amounts)('amount: %s', async (_name, amount) => {
    const tokenAddress = await newToken();
    await purchase('acme', tokenAddress, 100);
    for (const answer of [
      await purchase('acme', tokenAddress, amount),
      await retire('acme', tokenAddress, amount),
    ]) {
      expect(answer.errors[0]?.extensions.code).toBe('BAD_USER_INPUT');
      expect(answer.status).not.toBe(500);
    }
    expect(await market.network.carbonTotals(tokenAddress)).toMatchObject({ totalRetirements: 0 });
  });

  const beneficiaries: [string, unknown][] = [
    ['empty', ''],
    ['white space', '   '],
    ['10 kB', 'x'.repeat(10_240)],
    ['bidi override', `Acme${LRO}dtL`],
    ['control character', 'Acme\u0007'],
    ['a number', 7],
  ];
  it.each(beneficiaries)('beneficiary: %s', async (_name, buyerName) => {
    const tokenAddress = await newToken();
    await purchase('acme', tokenAddress, 100);
    const answer = await retire('acme', tokenAddress, 1, { buyerName });
    expect(answer.errors[0]?.extensions.code).toBe('BAD_USER_INPUT');
    expect(await market.network.carbonTotals(tokenAddress)).toMatchObject({ totalRetirements: 0 });
  });

  it('an unknown token', async () => {
    const unknown = market.network.custodyAddress;
    const answers = [
      await purchase('acme', unknown, 1),
      await retire('acme', unknown, 1),
      await purchase('acme', 'rubbish', 1),
    ];
    expect(answers.map((answer) => answer.errors[0]?.extensions)).toMatchObject(
      answers.map(() => ({ code: 'NOT_FOUND', field: 'input.tokenAddress' })),
    );
    for (const tokenAddress of [unknown, 'rubbish']) {
      const answer = await market.send(REGISTRY, { tokenAddress });
      expect(answer).toMatchObject({ data: { registry: null }, errors: [] });
    }
  });

  it('more than is unsold, more than is held', async () => {
    const tokenAddress = await newToken(10);
    const tooMuch = await purchase('acme', tokenAddress, 11);
    expect(tooMuch.errors[0]?.extensions).toMatchObject({ code: 'INSUFFICIENT_SUPPLY', available: '10' });
    const notHeld = await retire('acme', tokenAddress, 1);
    expect(notHeld.errors[0]?.extensions).toMatchObject({ code: 'INSUFFICIENT_BALANCE', available: '0' });
  });

  it('a key that another instance uses for another token at that moment', async () => {
    const input = { buyerId: 'acme', amountCO2e: 1n, idempotencyKey: randomUUID() };
    const [tokenAddress, otherToken] = [await newToken(), await newToken()];
    const connection = postgres(market.database.url, { max: 1 });
    let second: ReturnType<typeof purchase> | undefined;
    const prepared = (text: string, parameters: postgres.SerializableParameter[]) =>
      connection.begin(async (sql) => {
        const rows = await sql.unsafe(text, parameters as postgres.ParameterOrJSON<never>[]);
        second = purchase('acme', otherToken, 1, input.idempotencyKey);
        await expect.poll(() => hasLockWait(market.database.handle)).toBe(true);
        return rows;
      });
    const { dependencies } = market.app;
    const handle = { db: dependencies.db, prepared: prepared as DatabaseHandle['prepared'] };
    const elsewhere = { ...dependencies, books: createBooks({ ...dependencies, handle }) };
    expect(await purchaseOn(elsewhere, 'acme', { ...input, tokenAddress })).toMatchObject({
      amountTonnes: 1n,
    });
    expect((await second)?.errors[0]?.extensions.code).toBe('IDEMPOTENCY_CONFLICT');
    await connection.end();
  });
});

describe('who may do what', () => {
  it('lets buyers act for themselves alone, and the public read', async () => {
    const tokenAddress = await newToken();
    const input = { buyerId: 'acme', tokenAddress, amountCO2e: 1, idempotencyKey: randomUUID() };
    const codes = await Promise.all(
      [null, buyer('globex'), developer].map(async (caller) => {
        const answer = await market.send(PURCHASE, { input }, caller);
        return answer.errors[0]?.extensions.code;
      }),
    );
    expect(codes).toEqual(['UNAUTHENTICATED', 'FORBIDDEN', 'FORBIDDEN']);
    expect((await market.send(REGISTRY, { tokenAddress })).errors).toEqual([]);
  });
});
