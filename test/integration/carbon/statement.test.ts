/**
 * A buyer's statement and purchases over all tokens: complete, in one order in both directions, and filtered.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postTransfers } from '../../../src/ledger/books/postTransfers.ts';
import { purchasePosting } from '../../../src/ledger/books/postings.ts';
import { requireProjectByToken } from '../../../src/resolvers/carbon/findProject.ts';
import { buy, buyer, mutate, newToken, payloadOf } from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';

let market: Marketplace;
let tokens: string[];
/** Ids of the purchases that `ann` made through the API, oldest first. */
const bought: string[] = [];
const START = Date.UTC(2020, 0, 1) / 1000;
const NAMES = ['statement', 'purchases'] as const;

interface Entry {
  tokenAddress: string;
  change: number;
  version?: string;
  id?: string;
  balanceAfter?: string;
}

beforeAll(async () => {
  market = await startMarketplace();
  tokens = [await newToken(market), await newToken(market), await newToken(market)];
  await bookOld();
  for (const token of tokens) bought.push(await buy(market, 'ann', token, 10));
  await buy(market, 'ben', tokens[0] ?? '', 5);
  const TRANSFER = ['transferCredits', 'TransferCreditsInput', 'creditTransfer { id }'] as const;
  for (const [from, to] of [
    ['ann', 'ben'],
    ['ben', 'ann'],
  ] as const) {
    const input = { tokenAddress: tokens[0], toBuyerId: to, amountCO2e: 2 };
    payloadOf(await mutate(market, TRANSFER, input, buyer(from)));
  }
  const RETIRE = ['retire', 'RetireInput', 'retirement { id }'] as const;
  const input = { tokenAddress: tokens[1], buyerName: 'Ann', amountCO2e: 3 };
  payloadOf(await mutate(market, RETIRE, input, buyer('ann')));
});
afterAll(() => market.stop());

/** Books batches of one moment each, as instances with skewed clocks write them. */
async function bookOld(): Promise<void> {
  const { db, ids } = market.app.dependencies;
  for (const at of [START + 20, START + 10, START + 30]) {
    const postings = await Promise.all(
      [0, 1, 0, 1].map(async (i) => {
        const project = await requireProjectByToken(market.app.dependencies, tokens[i] ?? '');
        return purchasePosting({ id: ids.next(), projectId: project.id, amountTonnes: 1n, buyerId: 'ann' });
      }),
    );
    await db.transaction(async (tx) => {
      const moment = new Date(at * 1000);
      expect(await postTransfers(tx, postings, moment)).toEqual(postings.map(() => ({ ok: true })));
      // The product writes these rows with a purchase.
      for (const { causeId } of postings) {
        await tx.execute(`INSERT INTO idempotency_keys (caller_subject, operation, key, input_hash, target_id)
          VALUES ('ann', 'purchase', '${causeId}', '', '${causeId}')`);
      }
    });
  }
}

const NODES = {
  statement: 'project { tokenAddress } change version balanceAfter',
  purchases: 'id project { tokenAddress } tonnes',
};

interface Page {
  totalCount: number;
  nodes: { project: { tokenAddress: string }; change?: string; tonnes?: string }[];
  pageInfo: { endCursor: string; startCursor: string; hasNextPage: boolean; hasPreviousPage: boolean };
}

async function pageOf(
  name: (typeof NAMES)[number],
  filter: object,
  args: string,
  who = 'ann',
): Promise<Page> {
  const type = name === 'statement' ? 'StatementEntryFilter' : 'PurchaseFilter';
  const { data, errors } = await market.send<{ buyerAccount: Record<string, Page> }>(
    `query ($filter: ${type}) { buyerAccount { ${name}(filter: $filter, ${args}) {
      totalCount nodes { ${NODES[name]} } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } }`,
    { filter },
    buyer(who),
  );
  expect(errors).toEqual([]);
  const page = data?.buyerAccount[name];
  if (!page) throw new Error('no page');
  return page;
}

/** All entries in pages of three, forwards or backwards. */
async function all(name: (typeof NAMES)[number], filter: object = {}, isForwards = true): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let args = isForwards ? 'first: 3' : 'last: 3'; ;) {
    const { nodes, pageInfo, totalCount } = await pageOf(name, filter, args);
    const read = nodes.map(({ project, change, tonnes, ...rest }) => ({
      ...rest,
      tokenAddress: project.tokenAddress,
      change: Number(change ?? tonnes),
    }));
    entries.splice(isForwards ? entries.length : 0, 0, ...read);
    if (!(isForwards ? pageInfo.hasNextPage : pageInfo.hasPreviousPage)) {
      expect(totalCount).toBe(entries.length);
      return entries;
    }
    args = isForwards
      ? `first: 3, after: "${pageInfo.endCursor}"`
      : `last: 3, before: "${pageInfo.startCursor}"`;
  }
}

describe("a buyer's statement", () => {
  it('has every entry of every token once, oldest first, the same backwards', async () => {
    const entries = await all('statement');
    const [a, b, c] = tokens;
    const changes = entries.map(({ tokenAddress, change }) => [tokenAddress, change]);
    expect(changes.slice(12)).toEqual([
      [a, 10],
      [b, 10],
      [c, 10],
      [a, -2],
      [a, 2],
      [b, -3],
    ]);
    expect(changes.slice(0, 12).filter(([token]) => token === a)).toHaveLength(6);
    for (const token of tokens) {
      const versions = entries
        .filter(({ tokenAddress }) => tokenAddress === token)
        .map(({ version }) => version);
      // The second batch has an earlier moment, so it comes first, whatever its version in the account.
      expect(versions.slice(0, 6)).toEqual(token === c ? ['1'] : ['3', '4', '1', '2', '5', '6']);
    }
    expect(await all('statement', {}, false)).toEqual(entries);
  });

  it.each([
    ['a token', () => ({ tokenAddresses: [tokens[1]] }), 8],
    ['two tokens', () => ({ tokenAddresses: [tokens[2], tokens[1]] }), 9],
    ['an unknown token', () => ({ tokenAddresses: [market.network.custodyAddress] }), 0],
    ['no token', () => ({ tokenAddresses: [] }), 0],
    ['a kind', () => ({ kinds: ['CREDIT_TRANSFER'] }), 2],
    [
      'two kinds and a token',
      () => ({ kinds: ['RETIREMENT_HOLD', 'PURCHASE'], tokenAddresses: [tokens[1]] }),
      8,
    ],
    ['a kind that it has none of', () => ({ kinds: ['RETIREMENT_RETURN'] }), 0],
    ['no kind', () => ({ kinds: [] }), 0],
    ['a time', () => ({ from: START + 10, until: START + 20 }), 4],
    ['a time and a token', () => ({ until: START + 30, tokenAddresses: [tokens[0]] }), 4],
  ])('of %s', async (_what, filter, expected) => {
    const entries = await all('statement', filter());
    expect(entries).toHaveLength(expected);
    expect(await all('statement', filter(), false)).toEqual(entries);
  });

  it('refuses a cursor of another list', async () => {
    const { pageInfo } = await pageOf('purchases', {}, 'first: 1');
    const { errors } = await market.send(
      `{ buyerAccount { statement(after: "${pageInfo.endCursor}") { totalCount } } }`,
      {},
      buyer('ann'),
    );
    expect(errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'after' });
  });

  it.each([
    ['statement', ['0000-01-01T00:00:00Z', '1', '1']],
    ['balances', ['a\u0000b']],
  ])('refuses a forged cursor of the %s that the database could not read', async (list, parts) => {
    const after = Buffer.from(JSON.stringify([list, ...parts])).toString('base64url');
    const query = `{ buyerAccount { ${list}(first: 1, after: "${after}") { edges { cursor } } } }`;
    const { errors } = await market.send(query, {}, buyer('ann'));
    expect(errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'after' });
  });
});

describe("a buyer's purchases", () => {
  it('are all that the buyer bought, newest first, and nothing else', async () => {
    const entries = await all('purchases');
    expect(entries.slice(0, 3).map(({ id }) => id)).toEqual(bought.toReversed());
    expect(entries).toHaveLength(15);
    expect(await all('purchases', {}, false)).toEqual(entries);
    expect((await pageOf('purchases', {}, 'first: 1', 'nil')).totalCount).toBe(0);
    expect(await all('purchases', { tokenAddresses: [tokens[2]] })).toMatchObject([{ id: bought[2] }]);
    expect(await all('purchases', { until: START + 20 })).toHaveLength(4);
  });

  it.each(NAMES)('and %s are for the buyer and operators alone', async (name) => {
    const query = `{ buyerAccount(buyerId: "ann") { ${name} { totalCount } } }`;
    expect((await market.send(query, {}, { role: 'operator', subject: 'ops' })).errors).toEqual([]);
    expect((await market.send(query, {}, buyer('ben'))).errors[0]?.extensions.code).toBe('FORBIDDEN');
  });
});
