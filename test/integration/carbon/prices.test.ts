/**
 * Prices: who may set them, that each purchase keeps its own, and that no buyer books at an unexpected price.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import {
  buyer,
  developer,
  mutate,
  newToken,
  operator,
  payloadOf,
  projectInput,
} from '../../support/http/creditTrade.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { startMarketplace, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';

let market: Marketplace;
let tokenAddress: string;
let projectId: string;

beforeAll(async () => {
  market = await startMarketplace();
  tokenAddress = await newToken(market);
  projectId = (await projectAt(tokenAddress)).id;
});
afterAll(async () => {
  const report = await reconcileAll(market.app.dependencies);
  await market.stop();
  expect(report.findings).toEqual([]);
});

interface Money {
  amount: string;
  currency: string;
}
interface Bought {
  id: string;
  pricePerTonne: Money | null;
  total: Money | null;
}

const MONEY = '{ amount currency }';
const eur = (amount: string): Money => ({ amount, currency: 'EUR' });

async function projectAt(address: string) {
  const { data, errors } = await market.send<{ project: { id: string; pricePerTonne: Money | null } }>(
    `query ($t: Address!) { project(tokenAddress: $t) { id pricePerTonne ${MONEY} } }`,
    { t: address },
  );
  expect(errors).toEqual([]);
  if (!data) throw new Error('no project');
  return data.project;
}

const setPrice = (pricePerTonne: unknown, caller: TestCaller | null = developer, more: object = {}) =>
  mutate<{ project: { pricePerTonne: Money } }>(
    market,
    ['setProjectPrice', 'SetProjectPriceInput', `project { pricePerTonne ${MONEY} }`],
    { projectId, pricePerTonne, ...more },
    caller,
  );

const buy = (amountCO2e: number, more: object = {}) =>
  mutate<{ purchase: Bought | null; dryRun: Record<string, unknown> | null }>(
    market,
    [
      'purchase',
      'PurchaseInput',
      `purchase { id pricePerTonne ${MONEY} total ${MONEY} }
       dryRun { tonnes balanceAfter pricePerTonne ${MONEY} total ${MONEY} }`,
    ],
    { buyerId: 'acme', tokenAddress, amountCO2e, ...more },
    buyer('acme'),
  );

describe('a price', () => {
  it('is null until the developer or an operator sets one', async () => {
    expect((await projectAt(tokenAddress)).pricePerTonne).toBeNull();
    expect(payloadOf(await buy(1)).purchase).toMatchObject({ pricePerTonne: null, total: null });
    expect(payloadOf(await setPrice(eur('12.50'))).project.pricePerTonne).toEqual(eur('12.5'));
    expect(payloadOf(await setPrice(eur('13'), operator)).project.pricePerTonne).toEqual(eur('13'));
    expect((await projectAt(tokenAddress)).pricePerTonne).toEqual(eur('13'));
  });

  it.each([
    ['by another developer', eur('1'), { role: 'developer', subject: 'other' } as const, 'FORBIDDEN'],
    ['by a buyer', eur('1'), buyer('acme'), 'FORBIDDEN'],
    ['without a token', eur('1'), null, 'UNAUTHENTICATED'],
    ['of nothing', eur('0'), developer, 'BAD_USER_INPUT'],
    ['below zero', eur('-1'), developer, 'BAD_USER_INPUT'],
    ['of nine decimal places', eur('1.123456789'), developer, 'BAD_USER_INPUT'],
    ['of seventeen digits', eur('12345678901234567'), developer, 'BAD_USER_INPUT'],
    ['in no currency', { amount: '1', currency: 'euro' }, developer, 'BAD_USER_INPUT'],
    ['as a number', { amount: 1.5, currency: 'EUR' }, developer, 'BAD_USER_INPUT'],
  ] as const)('is refused %s', async (_name, price, caller, code) => {
    const before = (await projectAt(tokenAddress)).pricePerTonne;
    expect((await setPrice(price, caller)).errors[0]?.extensions.code).toBe(code);
    expect((await projectAt(tokenAddress)).pricePerTonne).toEqual(before);
  });

  it('is set once under one key, so that a late retry does not bring it back', async () => {
    const key = { idempotencyKey: randomUUID() };
    expect((await setPrice(eur('20'), developer, key)).errors).toEqual([]);
    expect((await setPrice(eur('21'))).errors).toEqual([]);
    expect(payloadOf(await setPrice(eur('20.00'), developer, key)).project.pricePerTonne).toEqual(eur('21'));
    const other = await setPrice(eur('22'), developer, key);
    expect(other.errors[0]?.extensions.code).toBe('IDEMPOTENCY_CONFLICT');
  });

  it('may come with the project, and has to be one', async () => {
    const address = await newToken(market, { pricePerTonne: eur('7.25') });
    expect((await projectAt(address)).pricePerTonne).toEqual(eur('7.25'));
    const bad = await mutate(
      market,
      ['createProject', 'CreateProjectInput', 'tokenAddress'],
      projectInput({ pricePerTonne: eur('0') }),
      developer,
    );
    expect(bad.errors[0]?.extensions).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'input.pricePerTonne.amount',
    });
  });
});

describe('a purchase', () => {
  it('keeps its price and its exact total when the price changes, in the statement too', async () => {
    await setPrice(eur('0.1'));
    const first = payloadOf(await buy(3)).purchase;
    expect(first).toMatchObject({ pricePerTonne: eur('0.1'), total: eur('0.3') });
    await setPrice({ amount: '99.99999999', currency: 'USD' });
    const second = payloadOf(await buy(7)).purchase;
    expect(second).toMatchObject({ total: { amount: '699.99999993', currency: 'USD' } });

    const again = await market.send<{ node: Bought }>(
      `query ($id: ID!) { node(id: $id) { ... on Purchase { id pricePerTonne ${MONEY} total ${MONEY} } } }`,
      { id: first?.id },
      buyer('acme'),
    );
    expect(again.data?.node).toEqual(first);
    const { data } = await market.send<{
      buyerAccount: { statement: { nodes: { pricePerTonne: Money | null; total: Money | null }[] } };
    }>(
      `query ($t: Address!) { buyerAccount(buyerId: "acme") { statement(filter: { tokenAddresses: [$t] }, last: 2) {
        nodes { pricePerTonne ${MONEY} total ${MONEY} } } } }`,
      { t: tokenAddress },
      buyer('acme'),
    );
    expect(data?.buyerAccount.statement.nodes).toEqual([
      { pricePerTonne: first?.pricePerTonne, total: first?.total },
      { pricePerTonne: second?.pricePerTonne, total: second?.total },
    ]);
  });

  it('is not booked at another price than was expected, dry run or not', async () => {
    await setPrice(eur('10'));
    expect(payloadOf(await buy(1, { expectedPricePerTonne: eur('10.00') })).purchase?.total).toEqual(
      eur('10'),
    );
    await setPrice(eur('11'));
    for (const dryRun of [true, false]) {
      for (const expected of [eur('10.00'), { amount: '11', currency: 'USD' }]) {
        const refused = await buy(1, { expectedPricePerTonne: expected, dryRun });
        expect(refused.errors[0]?.message).toContain(
          `was expected to cost ${parseInt(expected.amount)} ${expected.currency}, but it is 11 EUR.`,
        );
        expect(refused.errors[0]?.extensions).toMatchObject({
          code: 'PRICE_CHANGED',
          field: 'input.expectedPricePerTonne',
          ...eur('11'),
        });
      }
    }
  });

  it('in a dry run answers with price, total and balance, and books nothing', async () => {
    await setPrice(eur('4.2'));
    const count = () => market.database.handle.sql`SELECT count(*) FROM transfers`;
    const before = await count();
    const answer = payloadOf(await buy(5, { dryRun: true }));
    expect(answer).toMatchObject({
      purchase: null,
      dryRun: { tonnes: '5', pricePerTonne: eur('4.2'), total: eur('21') },
    });
    expect(await count()).toEqual(before);
    const tooMuch = await buy(1_000_000, { dryRun: true });
    expect(tooMuch.errors[0]?.extensions.code).toBe('INSUFFICIENT_SUPPLY');
  });

  it('is another request with another expected price', async () => {
    await setPrice(eur('10'));
    const idempotencyKey = randomUUID();
    const first = payloadOf(await buy(1, { expectedPricePerTonne: eur('10'), idempotencyKey }));
    expect(payloadOf(await buy(1, { expectedPricePerTonne: eur('10.0'), idempotencyKey })).purchase?.id).toBe(
      first.purchase?.id,
    );
    const other = await buy(1, { expectedPricePerTonne: eur('11'), idempotencyKey });
    expect(other.errors[0]?.extensions.code).toBe('IDEMPOTENCY_CONFLICT');
  });

  it('is booked before the price changes, or after it', async () => {
    const { handle } = market.database;
    let setting: ReturnType<typeof setPrice> | undefined;
    await handle.db.transaction(async (tx) => {
      // A purchase takes the same lock.
      await tx.execute(sql`SELECT FROM accounts WHERE kind = 'inventory' FOR NO KEY UPDATE`);
      setting = setPrice(eur('12'));
      await expect.poll(() => hasLockWait(handle), { timeout: 5_000 }).toBe(true);
    });
    expect((await setting)?.errors).toEqual([]);
  });

  it('while the price changes is at one of the prices, and never at another than expected', async () => {
    await setPrice(eur('1'));
    const answers = await Promise.all(
      Array.from({ length: 16 }, async (_, i) => {
        if (i % 8 === 7) return { set: await setPrice(eur(String(1 + (i % 5)))) };
        return { bought: await buy(1, i % 2 === 0 ? { expectedPricePerTonne: eur('1') } : {}), i };
      }),
    );
    expect(answers.flatMap(({ set }) => set?.errors ?? [])).toEqual([]);
    const bought = answers.flatMap((answer) => (answer.bought ? [{ ...answer.bought, i: answer.i }] : []));
    const refused = bought.filter(({ errors }) => errors.length > 0);
    const codes = refused.flatMap(({ errors }) => errors.map(({ extensions }) => extensions.code));
    expect(new Set(codes)).toEqual(new Set(codes.length > 0 ? ['PRICE_CHANGED'] : []));
    const guarded = bought.filter(({ errors, i }) => errors.length === 0 && i % 2 === 0);
    expect(guarded.map((answer) => payloadOf(answer).purchase?.pricePerTonne)).toEqual(
      guarded.map(() => eur('1')),
    );
  });
});

describe('the database refuses', () => {
  const refused = (statement: string, why: string) =>
    expect(market.database.handle.sql.unsafe(statement), statement).rejects.toThrow(why);
  const PRICE = (values: string) =>
    `INSERT INTO project_prices (id, project_id, number, price_per_tonne, price_currency, set_by, created_at)
      SELECT gen_random_uuid(), p.project_id, ${values}, 'mallory', now() FROM (
        SELECT project_id, max(number) AS last FROM project_prices GROUP BY project_id LIMIT 1) AS p`;

  it('a change of a price, a gap, and what is no price', async () => {
    await refused('UPDATE project_prices SET price_per_tonne = 1', 'append-only');
    await refused('DELETE FROM project_prices', 'append-only');
    await refused('TRUNCATE project_prices', 'append-only');
    await refused(PRICE("last, 5, 'EUR'"), 'does not follow');
    await refused(PRICE("last + 2, 5, 'EUR'"), 'does not follow');
    await refused(PRICE("last + 1, 0, 'EUR'"), 'project_prices_form');
    await refused(PRICE("last + 1, 'NaN', 'EUR'"), 'project_prices_form');
    await refused(PRICE("last + 1, 5, 'euro'"), 'project_prices_form');
  });

  it.each([
    ['at another price than the one in force', `0.01, 'EUR'`],
    ['in another currency than the one in force', `price_per_tonne, 'USD'`],
  ])('a purchase %s', async (_name, price) => {
    await refused(
      `INSERT INTO transfers (id, kind, project_id, cause_id, amount_tonnes, price_per_tonne, price_currency, created_at,
          debit_account_id, debit_version, debit_balance_tonnes, credit_account_id, credit_version, credit_balance_tonnes)
        SELECT forged, 'purchase', d.project_id, forged, 5, ${price}, now(), d.id, d.version + 1, d.balance_tonnes - 5,
          c.id, c.version + 1, c.balance_tonnes + 5
        FROM gen_random_uuid() AS forged, accounts d, accounts c,
          (SELECT price_per_tonne FROM project_prices WHERE project_id = '${await projectUuid()}' ORDER BY number DESC LIMIT 1) AS p
        WHERE d.project_id = '${await projectUuid()}' AND d.kind = 'inventory'
          AND c.project_id = d.project_id AND c.kind = 'buyer'`,
      'is not at the price in force',
    );
  });
});

async function projectUuid(): Promise<string> {
  const [row] = await market.database.handle.sql<{ id: string }[]>`
    SELECT id FROM projects WHERE token_address = ${tokenAddress}`;
  return row?.id ?? '';
}
