/**
 * Reads as clients make them: ownership, public data, and the view of operators.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { callers, startCarbonExample } from '../../support/http/carbonExample.ts';
import type { Page } from '../../support/http/carbonExample.ts';
import type { Marketplace, TestCaller } from '../../support/http/marketplace.ts';

let market: Marketplace;
let tokens: string[];
let purchaseId: string;
let retirementId: string;

beforeAll(async () => {
  ({ market, tokens, purchaseId, retirementId } = await startCarbonExample());
});

afterAll(() => market.stop());

describe('what belongs to a buyer', () => {
  const NODE = 'query ($id: ID!) { node(id: $id) { __typename id } }';
  const RETIREMENT = `query ($id: ID!) { retirement(id: $id) {
    state tonnes beneficiary note txHash recordIndex createdAt settledAt transactions { state } project { vintageYear } } }`;

  it('is found by id for the buyer and operators alone', async () => {
    for (const [id, typename] of [
      [purchaseId, 'Purchase'],
      [retirementId, 'Retirement'],
    ] as const) {
      const seen = await Promise.all(
        [callers.acme, callers.operator, callers.globex, null].map((caller) =>
          market.send(NODE, { id }, caller),
        ),
      );
      const found = { node: { __typename: typename, id } };
      expect(seen.map(({ data }) => data)).toEqual([found, found, { node: null }, { node: null }]);
    }
  });

  it('is a retirement with its states and times; for others null', async () => {
    const own = await market.send<{ retirement: Record<string, unknown> }>(
      RETIREMENT,
      { id: retirementId },
      callers.acme,
    );
    expect(own.data?.retirement).toMatchObject({
      state: 'RETIRED',
      tonnes: '30',
      beneficiary: 'Acme',
      note: '',
      recordIndex: 0,
      transactions: [{ state: 'LANDED' }],
      project: { vintageYear: 2020 },
    });
    expect(own.data?.retirement['settledAt']).toBeGreaterThanOrEqual(
      Number(own.data?.retirement['createdAt']),
    );
    const others = await market.send(RETIREMENT, { id: retirementId }, callers.globex);
    expect(others).toMatchObject({ data: { retirement: null }, errors: [] });
    const anonymous = await market.send(RETIREMENT, { id: retirementId });
    expect(anonymous.errors[0]?.extensions.code).toBe('UNAUTHENTICATED');
  });

  it.each([
    ['of another type', () => purchaseId],
    ['that is garbage', () => 'garbage'],
    ['of no type', () => Buffer.from(`Nothing:${randomUUID()}`).toString('base64url')],
    ['that is no UUID', () => Buffer.from("Retirement:' OR 1=1").toString('base64url')],
  ])('is not looked for by an id %s', async (_what, id) => {
    const answer = await market.send(RETIREMENT, { id: id() }, callers.acme);
    expect(answer.errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'id' });
    expect(answer.status).not.toBe(500);
  });

  it('is listed for the buyer alone', async () => {
    const LIST = `query ($filter: RetirementFilter) { retirements(first: 10, filter: $filter) { edges { node { buyerId } } } }`;
    const list = async (caller: TestCaller | null, filter?: object) => {
      const { data, errors } = await market.send<{ retirements: Page<{ buyerId: string }> }>(
        LIST,
        { filter },
        caller,
      );
      return data?.retirements?.edges.map(({ node }) => node.buyerId) ?? errors[0]?.extensions.code;
    };
    expect(await list(callers.acme)).toEqual(['acme']);
    expect(await list(callers.globex)).toEqual([]);
    expect(await list(callers.operator)).toEqual(['acme']);
    expect(await list(callers.operator, { buyerIds: ['globex'] })).toEqual([]);
    expect(await list(callers.globex, { buyerIds: ['acme'] })).toBe('FORBIDDEN');
    expect(await list(callers.globex, { buyerIds: ['globex', 'acme'] })).toBe('FORBIDDEN');
    expect(await list(callers.acme, { buyerIds: ['acme'] })).toEqual(['acme']);
    expect(await list(callers.globex, { buyerIds: [] })).toEqual([]);
    expect(await list(null)).toBe('UNAUTHENTICATED');
    expect(await list(callers.developer)).toBe('FORBIDDEN');
    const { errors } = await market.send('{ retirements { totalCount } }');
    expect(errors[0]?.message).toBe(
      'retirements needs a token with role operator or buyer; no bearer token was sent.',
    );
  });

  it('is an account with balances and a statement that adds up', async () => {
    const ACCOUNT = `query ($t: Address!) { buyerAccount(buyerId: "acme") {
      balances(first: 10) { edges { node { tokenAddress tonnes } } }
      statement(filter: { tokenAddresses: [$t] }, first: 1, after: $after) {
        edges { node { version kind change balanceBefore balanceAfter cause { __typename ... on Node { id } } } } pageInfo { endCursor hasNextPage } } } }`;
    const ask = (after: string | null) =>
      market.send<{ buyerAccount: { balances: Page<object>; statement: Page<object> } }>(
        ACCOUNT.replace('$t: Address!', '$t: Address!, $after: String'),
        { t: tokens[0], after },
        callers.acme,
      );
    const first = (await ask(null)).data?.buyerAccount;
    expect(first?.balances.edges).toEqual([{ node: { tokenAddress: tokens[0], tonnes: '70' } }]);
    expect(first?.statement.edges).toEqual([
      {
        node: {
          version: '1',
          kind: 'PURCHASE',
          change: '100',
          balanceBefore: '0',
          balanceAfter: '100',
          cause: { __typename: 'Purchase', id: purchaseId },
        },
      },
    ]);
    const second = (await ask(first?.statement.pageInfo.endCursor ?? null)).data?.buyerAccount;
    expect(second?.statement.edges).toEqual([
      {
        node: {
          version: '2',
          kind: 'RETIREMENT_HOLD',
          change: '-30',
          balanceBefore: '100',
          balanceAfter: '70',
          cause: { __typename: 'Retirement', id: retirementId },
        },
      },
    ]);
    expect(second?.statement.pageInfo.hasNextPage).toBe(false);
    const foreign = await market.send('{ buyerAccount(buyerId: "acme") { buyerId } }', {}, callers.globex);
    expect(foreign.errors[0]?.extensions.code).toBe('FORBIDDEN');
  });
});

describe('for every caller', () => {
  it('the network that the tokens live on', async () => {
    const { data } = await market.send<{ ledgerNetwork: Record<string, unknown> }>(
      '{ ledgerNetwork { name custodyAddress settlementAddress latestLedger latestLedgerClosedAt } }',
    );
    expect(data?.ledgerNetwork).toMatchObject({
      name: market.network.name,
      custodyAddress: market.network.custodyAddress,
    });
    expect(data?.ledgerNetwork['latestLedger']).toBeGreaterThan(0);
    expect(data?.ledgerNetwork['latestLedgerClosedAt']).toBeGreaterThan(1_700_000_000);
  });

  it('the network without what its node is silent about, each field with its error', async () => {
    const { network } = market;
    const { status } = network;
    network.status = () => Promise.reject(new NetworkUnavailable('silent'));
    try {
      const { data, errors } = await market.send<{ ledgerNetwork: Record<string, unknown> }>(
        `{ ledgerNetwork { name networkId custodyAddress clockCanBeMoved signingHaltedBecause
          settlementAddress latestLedger latestLedgerClosedAt oldestLedger } }`,
      );
      expect(data?.ledgerNetwork).toEqual({
        name: network.name,
        networkId: network.networkId,
        custodyAddress: network.custodyAddress,
        clockCanBeMoved: true,
        signingHaltedBecause: null,
        settlementAddress: null,
        latestLedger: null,
        latestLedgerClosedAt: null,
        oldestLedger: null,
      });
      expect(errors.map(({ path, extensions }) => [path?.at(-1), extensions.code])).toEqual(
        ['settlementAddress', 'latestLedger', 'latestLedgerClosedAt', 'oldestLedger'].map((name) => [
          name,
          'LEDGER_UNAVAILABLE',
        ]),
      );
    } finally {
      network.status = status;
    }
  });

  it('the network as of one ledger in all fields, and without asking the node for those that it is not needed for', async () => {
    const { network } = market;
    const { status } = network;
    let reads = 0n;
    network.status = async () => {
      reads += 1n;
      return { ledger: reads, closedAt: reads, oldestLedger: reads };
    };
    try {
      await market.send('{ ledgerNetwork { name signingHaltedBecause } }');
      expect(reads).toBe(0n);
      const { data } = await market.send(
        '{ ledgerNetwork { latestLedger latestLedgerClosedAt oldestLedger } }',
      );
      expect(data).toEqual({
        ledgerNetwork: { latestLedger: 1, latestLedgerClosedAt: 1, oldestLedger: 1 },
      });
    } finally {
      network.status = status;
    }
  });

  it('the records of a token, page by page', async () => {
    const { data, errors } = await market.send<{ registry: { recordsConnection: Page<{ tonnes: string }> } }>(
      `query ($t: Address!) { registry(tokenAddress: $t) { recordsConnection(first: 1) {
        edges { node { index tonnes } } pageInfo { hasNextPage } } } }`,
      { t: tokens[0] },
    );
    expect(errors).toEqual([]);
    expect(data?.registry.recordsConnection).toEqual({
      edges: [{ node: { index: 0, tonnes: '30' } }],
      pageInfo: { hasNextPage: false },
    });
  });

  it('the feed, which ends at once for a subscriber who waits and leaves', async () => {
    const socket = market.socket();
    const stream = socket.iterate<{
      retirementFeed: { cursor: string; record: { project: { vintageYear: number } } };
    }>({
      query: 'subscription { retirementFeed(after: "0") { cursor record { project { vintageYear } } } }',
    });
    const first = await stream.next();
    expect(first.value).toMatchObject({
      data: { retirementFeed: { record: { project: { vintageYear: 2020 } } } },
    });
    await stream.return?.();
    // If the server went on waiting, its socket could not be used up to the limit again and again.
    for (let round = 0; round < 3; round += 1) {
      const streams = Array.from({ length: 100 }, () =>
        socket.iterate({ query: 'subscription { retirementFeed(after: "0") { cursor } }' }),
      );
      await Promise.all(streams.map((each) => each.next()));
      for (const each of streams) await each.return?.();
    }
  });

  it.each([
    ['from a cursor that no event had', 'after: "999"', { code: 'BAD_USER_INPUT', field: 'after' }],
    [
      'of a token that does not exist',
      'tokenAddress: "nowhere"',
      { code: 'NOT_FOUND', field: 'tokenAddress' },
    ],
  ])('no feed %s', async (_what, args, extensions) => {
    const query = `subscription { retirementFeed(${args}) { cursor } }`;
    const answers: unknown[] = [];
    for await (const answer of market.socket().iterate({ query })) answers.push(answer);
    expect(answers).toMatchObject([{ errors: [{ extensions }] }]);
  });
});

describe('for operators', () => {
  it('submissions and the indexer, for no other role', async () => {
    const LIST =
      '{ submissions(first: 10, filter: { states: [SUCCEEDED] }) { edges { node { id kind state } } } }';
    const { data } = await market.send<{ submissions: Page<{ id: string; kind: string }> }>(
      LIST,
      {},
      callers.operator,
    );
    const kinds = data?.submissions.edges.map(({ node }) => node.kind);
    expect(kinds?.filter((kind) => kind === 'RETIRE')).toHaveLength(1);
    expect(kinds).toHaveLength(7);
    const id = data?.submissions.edges[0]?.node.id;
    const one = await market.send(
      'query ($id: ID!) { submission(id: $id) { id } node(id: $id) { id } }',
      { id },
      callers.operator,
    );
    expect(one.data).toEqual({ submission: { id }, node: { id } });
    const hidden = await market.send('query ($id: ID!) { node(id: $id) { id } }', { id }, callers.acme);
    expect(hidden.data).toEqual({ node: null });
    for (const query of [LIST, 'mutation { watchRetirements { webhookId } }']) {
      expect((await market.send(query, {}, callers.acme)).errors[0]?.extensions.code).toBe('FORBIDDEN');
    }
    const watching = await market.send<{ watchRetirements: { webhookId: string } }>(
      'mutation { watchRetirements { webhookId } }',
      {},
      callers.operator,
    );
    expect(watching.data?.watchRetirements.webhookId).toBeTruthy();
  });

  it('no decision on what needs none', async () => {
    const { data } = await market.send<{ submissions: Page<{ id: string }> }>(
      '{ submissions(first: 1) { edges { node { id } } } }',
      {},
      callers.operator,
    );
    const input = {
      submissionId: data?.submissions.edges[0]?.node.id,
      decision: 'RESUME',
      reviewVersion: 'v',
      reason: 'just trying',
    };
    const RESOLVE =
      'mutation ($input: ResolveSubmissionReviewInput!) { resolveSubmissionReview(input: $input) { submission { id } } }';
    expect((await market.send(RESOLVE, { input }, callers.operator)).errors[0]?.extensions.code).toBe(
      'CONFLICT',
    );
    expect(
      (await market.send(RESOLVE, { input: { ...input, reason: ' ' } }, callers.operator)).errors[0]
        ?.extensions,
    ).toMatchObject({
      code: 'BAD_USER_INPUT',
      field: 'input.reason',
    });
  });
});
