/**
 * Transfers of credits between buyers: both statements, rights, refusals, dry runs, and the database's rules.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { creditTransferPosting } from '../../../src/ledger/books/postings.ts';
import { postTransfers } from '../../../src/ledger/books/postTransfers.ts';
import { requireProjectByToken } from '../../../src/resolvers/carbon/findProject.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import {
  balanceOf,
  buy,
  buyer,
  mutate,
  newToken,
  operator,
  payloadOf,
} from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';

let market: Marketplace;
let tokenAddress: string;

beforeAll(async () => {
  market = await startMarketplace();
  tokenAddress = await newToken(market);
  await buy(market, 'ann', tokenAddress, 100);
});
afterAll(async () => {
  const report = await reconcileAll(market.app.dependencies);
  await market.stop();
  expect(report.findings).toEqual([]);
});

interface Payload {
  creditTransfer: {
    id: string;
    fromBuyerId: string;
    toBuyerId: string;
    tonnes: string;
    memo: string | null;
  } | null;
  dryRun: { buyerId: string; tonnes: string; balanceAfter: string } | null;
}

const TRANSFER = [
  'transferCredits',
  'TransferCreditsInput',
  `creditTransfer { id fromBuyerId toBuyerId tonnes memo project { tokenAddress } createdAt }
   dryRun { buyerId tonnes balanceAfter project { tokenAddress } }`,
] as const;

const transfer = (input: Record<string, unknown>, caller: TestCaller | null) =>
  mutate<Payload>(market, TRANSFER, { tokenAddress, ...input }, caller);

const statementOf = async (buyerId: string) => {
  const { data, errors } = await market.send<{
    buyerAccount: { statement: { edges: { node: Record<string, unknown> }[] } };
  }>(
    `query ($id: String!, $t: Address!) { buyerAccount(buyerId: $id) { statement(filter: { tokenAddresses: [$t] }, first: 100) {
      edges { node { kind change balanceAfter cause { ... on Node { id } } counterpartyId } } } } }`,
    { id: buyerId, t: tokenAddress },
    buyer(buyerId),
  );
  expect(errors).toEqual([]);
  return data?.buyerAccount.statement.edges.map(({ node }) => node) ?? [];
};

describe('a transfer', () => {
  it('moves credits, and both statements show it with the other buyer', async () => {
    const answer = await transfer({ toBuyerId: 'ben', amountCO2e: 30, memo: 'year-end' }, buyer('ann'));
    const { creditTransfer, dryRun } = payloadOf(answer);
    expect(dryRun).toBeNull();
    expect(creditTransfer).toMatchObject({
      fromBuyerId: 'ann',
      toBuyerId: 'ben',
      tonnes: '30',
      memo: 'year-end',
      project: { tokenAddress },
    });
    const cause = { id: creditTransfer?.id };
    expect((await statementOf('ann')).at(-1)).toEqual({
      kind: 'CREDIT_TRANSFER',
      change: '-30',
      balanceAfter: '70',
      cause,
      counterpartyId: 'ben',
    });
    expect((await statementOf('ben')).at(-1)).toEqual({
      kind: 'CREDIT_TRANSFER',
      change: '30',
      balanceAfter: '30',
      cause,
      counterpartyId: 'ann',
    });
    expect((await statementOf('ann'))[0]).toMatchObject({ kind: 'PURCHASE', counterpartyId: null });

    const NODE = 'query ($id: ID!) { node(id: $id) { id } }';
    const seen = await Promise.all(
      [buyer('ann'), buyer('ben'), operator, buyer('cem'), null].map(
        async (caller) => (await market.send(NODE, cause, caller)).data?.['node'],
      ),
    );
    expect(seen).toEqual([cause, cause, cause, null, null]);
  });

  it('is done once under one key, and back again by who got it', async () => {
    const key = { idempotencyKey: randomUUID() };
    const before = await balanceOf(market, 'ann', tokenAddress);
    const input = { toBuyerId: 'dee', amountCO2e: 5, ...key };
    const [first, second] = [await transfer(input, buyer('ann')), await transfer(input, buyer('ann'))];
    expect(payloadOf(second)).toEqual(payloadOf(first));
    expect(await balanceOf(market, 'dee', tokenAddress)).toBe('5');
    const other = await transfer({ ...input, memo: 'other words' }, buyer('ann'));
    expect(other.errors[0]?.extensions.code).toBe('IDEMPOTENCY_CONFLICT');
    expect((await transfer({ toBuyerId: 'ann', amountCO2e: 5 }, buyer('dee'))).errors).toEqual([]);
    expect(await balanceOf(market, 'ann', tokenAddress)).toBe(before);
  });

  it.each([
    ['without a token', null, {}, 'UNAUTHENTICATED'],
    ['of another buyer', buyer('cem'), { fromBuyerId: 'ann' }, 'FORBIDDEN'],
    ['by a developer', { role: 'developer', subject: 'ann' } as const, {}, 'FORBIDDEN'],
    ['to itself', buyer('ann'), { toBuyerId: 'ann' }, 'BAD_USER_INPUT'],
    ['to no id', buyer('ann'), { toBuyerId: '' }, 'BAD_USER_INPUT'],
    ['of more than is held', buyer('ann'), { amountCO2e: 1_000_000 }, 'INSUFFICIENT_BALANCE'],
    ['by a buyer without credits', buyer('nil'), {}, 'INSUFFICIENT_BALANCE'],
    ['of nothing', buyer('ann'), { amountCO2e: 0 }, 'BAD_USER_INPUT'],
    ['with an empty memo', buyer('ann'), { memo: '' }, 'BAD_USER_INPUT'],
  ] as const)('is refused %s', async (_name, caller, input, code) => {
    const before = await balanceOf(market, 'ann', tokenAddress);
    for (const dryRun of [true, false]) {
      const answer = await transfer({ toBuyerId: 'ben', amountCO2e: 1, dryRun, ...input }, caller);
      expect(answer.errors[0]?.extensions.code).toBe(code);
    }
    expect(await balanceOf(market, 'ann', tokenAddress)).toBe(before);
  });

  it('of an unknown token is NOT_FOUND, and an operator may name the sender', async () => {
    const unknown = await transfer(
      { toBuyerId: 'ben', amountCO2e: 1, tokenAddress: market.network.custodyAddress },
      buyer('ann'),
    );
    expect(unknown.errors[0]?.extensions).toMatchObject({ code: 'NOT_FOUND', field: 'input.tokenAddress' });
    const answer = await transfer({ fromBuyerId: 'ann', toBuyerId: 'ben', amountCO2e: 1 }, operator);
    expect(payloadOf(answer).creditTransfer).toMatchObject({ fromBuyerId: 'ann', memo: null });
  });

  it('in both directions at once loses nothing, and takes no balance below zero', async () => {
    const token = await newToken(market, { quantityCO2e: 100 });
    await buy(market, 'ann', token, 40);
    await buy(market, 'ben', token, 40);
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, i) => {
        const [from, to] = i % 2 === 0 ? ['ann', 'ben'] : ['ben', 'ann'];
        return transfer({ toBuyerId: to, amountCO2e: 1 + (i % 13), tokenAddress: token }, buyer(from ?? ''));
      }),
    );
    const codes = answers.flatMap(({ errors }) => errors.map(({ extensions }) => extensions.code));
    expect(new Set([...codes, 'INSUFFICIENT_BALANCE'])).toEqual(new Set(['INSUFFICIENT_BALANCE']));
    const [ann, ben] = [await balanceOf(market, 'ann', token), await balanceOf(market, 'ben', token)];
    expect(BigInt(ann) + BigInt(ben)).toBe(80n);
  });
});

describe('a dry run', () => {
  it('answers with what would be, and changes nothing: no balance, no account, no key, no row', async () => {
    const { sql } = market.database.handle;
    const rows = () =>
      sql`SELECT (SELECT count(*) FROM credit_transfers) AS made, (SELECT count(*) FROM transfers) AS posted,
        (SELECT count(*) FROM accounts) AS accounts, (SELECT count(*) FROM idempotency_keys) AS keys`;
    const before = await rows();
    const balance = BigInt(await balanceOf(market, 'ann', tokenAddress));
    const input = { toBuyerId: 'new', amountCO2e: 10, idempotencyKey: randomUUID() };
    expect(payloadOf(await transfer({ ...input, dryRun: true }, buyer('ann')))).toEqual({
      creditTransfer: null,
      dryRun: {
        buyerId: 'ann',
        tonnes: '10',
        balanceAfter: (balance - 10n).toString(),
        project: { tokenAddress },
      },
    });
    expect(await rows()).toEqual(before);
    await expect
      .poll(async () => {
        const rows = await sql`SELECT outcome FROM audit_entries WHERE 'new' = ANY (target_ids)`;
        return rows.map(({ outcome }): unknown => outcome);
      })
      .toEqual(['DRY_RUN']);
    // The key is free: another request may use it.
    expect((await transfer({ ...input, amountCO2e: 1 }, buyer('ann'))).errors).toEqual([]);
  });
});

describe('the database refuses', () => {
  it.each([
    ['another cause than itself', { causeId: randomUUID() }, 'transfers_own_cause'],
    ['its sender as its recipient', { credit: { kind: 'buyer', buyerId: 'ann' } }, 'transfers_two_sides'],
    ['nothing to transfer', { amountTonnes: 0n }, 'transfers_positive'],
    ['the sides of a purchase', { debit: { kind: 'inventory' } }, 'not between two accounts'],
  ] as const)('a transfer between buyers with %s', async (_name, wrong, why) => {
    const { db } = market.database.handle;
    const { id: projectId } = await requireProjectByToken(market.app.dependencies, tokenAddress);
    const sides = { fromBuyerId: 'ann', toBuyerId: 'ben' };
    const posting = creditTransferPosting({
      id: randomUUID(),
      projectId,
      amountTonnes: 1n,
      memo: null,
      ...sides,
    });
    const booked = db.transaction((tx) => postTransfers(tx, [{ ...posting, ...wrong }], new Date()));
    await expect(booked).rejects.toMatchObject({
      cause: { message: expect.stringContaining(why) as string },
    });
  });
});
