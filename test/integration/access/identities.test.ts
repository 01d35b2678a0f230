/**
 * Objects with an identity: found by global id, by natural key, and from the objects that belong to them.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callers, startCarbonExample, type CarbonExample } from '../../support/http/carbonExample.ts';

let example: CarbonExample;

beforeAll(async () => {
  example = await startCarbonExample();
});

afterAll(() => example.market.stop());

const NODE = 'query ($id: ID!) { node(id: $id) { __typename id } }';

it("a buyer's account is fetched again by its id, by the buyer and operators alone", async () => {
  const { market } = example;
  const read = await market.send<{ buyerAccount: { id: string } }>(
    '{ buyerAccount(buyerId: "acme") { id } }',
    {},
    callers.acme,
  );
  const id = read.data?.buyerAccount.id;
  const found = { node: { __typename: 'BuyerAccount', id } };
  for (const caller of [callers.acme, callers.operator]) {
    expect((await market.send(NODE, { id }, caller)).data).toEqual(found);
  }
  for (const caller of [callers.globex, null]) {
    expect(await market.send(NODE, { id }, caller)).toMatchObject({ data: { node: null }, errors: [] });
  }
});

it("without a buyerId the account is the caller's own, and no operator's", async () => {
  const { market } = example;
  const query = '{ buyerAccount { buyerId balances { totalCount } } }';
  expect((await market.send(query, {}, callers.acme)).data).toEqual({
    buyerAccount: { buyerId: 'acme', balances: { totalCount: 1 } },
  });
  for (const [caller, code] of [
    [callers.operator, 'FORBIDDEN'],
    [null, 'UNAUTHENTICATED'],
  ] as const) {
    expect((await market.send(query, {}, caller)).errors[0]?.extensions.code).toBe(code);
  }
});

it("without a buyerId a buyer trades and retires on the buyer's own account, and an operator on none", async () => {
  const { market, tokens } = example;
  const trades = {
    purchase: ['PurchaseInput', 'purchase { buyerId tonnes }', {}],
    retire: ['RetireInput', 'retirement { buyerId tonnes }', { buyerName: 'Own Ltd' }],
    transferCredits: [
      'TransferCreditsInput',
      'creditTransfer { fromBuyerId tonnes }',
      { toBuyerId: 'globex' },
    ],
  } as const;
  const own = { role: 'buyer', subject: 'own' } as const;
  for (const [name, [type, selection, more]] of Object.entries(trades)) {
    const mutation = `mutation ($input: ${type}!) { ${name}(input: $input) { ${selection} } }`;
    const amountCO2e = name === 'purchase' ? 3 : 1;
    const input = { tokenAddress: tokens[2], amountCO2e, ...more, idempotencyKey: 'own account' };
    const { data, errors } = await market.send<Record<string, Record<string, Record<string, string>>>>(
      mutation,
      { input },
      own,
    );
    expect(errors).toEqual([]);
    expect(Object.values(data?.[name] ?? {})[0]).toEqual({
      [name === 'transferCredits' ? 'fromBuyerId' : 'buyerId']: 'own',
      tonnes: String(amountCO2e),
    });
    // The omitted buyer and the named one are the same input.
    const buyer = { [name === 'transferCredits' ? 'fromBuyerId' : 'buyerId']: 'own' };
    expect((await market.send(mutation, { input: { ...input, ...buyer } }, own)).data).toEqual(data);
    for (const [caller, code] of [
      [callers.operator, 'FORBIDDEN'],
      [null, 'UNAUTHENTICATED'],
    ] as const) {
      const refused = await market.send(mutation, { input }, caller);
      expect(refused.errors[0]?.extensions.code).toBe(code);
      // The message says what an operator has to add, and names no other subject.
      expect(refused.errors[0]?.message).toMatch(
        `${name} needs a token with role buyer (an operator has to give ${Object.keys(buyer)[0]}); `,
      );
    }
  }
});

it.each([
  [callers.acme, 'this one has buyer.'],
  [{ role: 'warehouse', subject: 'wh-2' }, 'this one has warehouse and warehouseId wh-2.'],
] as const)('a refusal about a warehouse names those of %o alone', async (caller, has) => {
  const { errors } = await example.market.send(
    'mutation ($input: CreateDepositInput!) { createDeposit(input: $input) { txHash } }',
    {
      input: {
        warehouseId: 'wh-1',
        commodityType: 'Maize',
        quantityKg: 1,
        gradeClassification: 'Grade 1',
        valuationUSD: 1,
        farmerId: 'farmer-1',
        farmerAddress: example.market.network.custodyAddress,
        idempotencyKey: 'refused',
      },
    },
    caller,
  );
  expect(errors[0]?.message).toContain(`warehouse and warehouseId wh-1; ${has}`);
});

it('the viewer is who the token says', async () => {
  const { market } = example;
  const query = '{ viewer { subject roles warehouseIds buyerAccount { buyerId } } }';
  expect((await market.send(query, {}, callers.acme)).data).toEqual({
    viewer: { subject: 'acme', roles: ['BUYER'], warehouseIds: [], buyerAccount: { buyerId: 'acme' } },
  });
  expect((await market.send(query, {}, callers.operator)).data).toEqual({
    viewer: { subject: 'ops', roles: ['OPERATOR'], warehouseIds: [], buyerAccount: null },
  });
  expect(await market.send(query)).toMatchObject({ data: { viewer: null }, errors: [] });
});

it('a retirement leads to its public record, which anonymous readers find again', async () => {
  const { market, retirementId, tokens } = example;
  interface Led {
    retirement: { txHash: string; record: { id: string; index: number } | null };
  }
  const read = async () => {
    const { data } = await market.send<Led>(
      'query ($id: ID!) { retirement(id: $id) { txHash record { id index beneficiary tonnes txHash } } }',
      { id: retirementId },
      callers.acme,
    );
    return data?.retirement;
  };
  // The feed reads the record a moment after the burn.
  await expect.poll(async () => (await read())?.record ?? null, { timeout: 30_000 }).not.toBeNull();
  const { txHash, record } = (await read()) ?? {};
  expect(record).toMatchObject({ index: 0, beneficiary: 'Acme', tonnes: '30', txHash });
  expect((await market.send(NODE, { id: record?.id })).data).toEqual({
    node: { __typename: 'RetirementRecord', id: record?.id },
  });
  const byKey = 'query ($t: Address!, $i: Int!) { retirementRecord(tokenAddress: $t, index: $i) { id } }';
  expect((await market.send(byKey, { t: tokens[0], i: 0 })).data).toEqual({
    retirementRecord: { id: record?.id },
  });
  for (const variables of [
    { t: tokens[0], i: 1 },
    { t: tokens[1], i: 0 },
    { t: 'nowhere', i: 0 },
  ]) {
    expect(await market.send(byKey, variables)).toMatchObject({
      data: { retirementRecord: null },
      errors: [],
    });
  }
});

it('a project leads to its registry, and says whether it can be bought', async () => {
  const { market, tokens } = example;
  const { data, errors } = await market.send(
    `query ($t: Address!) { project(tokenAddress: $t) {
      buyable registry { totalRetirements records { beneficiary } project { buyable } } } }`,
    { t: tokens[0] },
  );
  expect(errors).toEqual([]);
  expect(data).toEqual({
    project: {
      buyable: true,
      registry: { totalRetirements: 1, records: [{ beneficiary: 'Acme' }], project: { buyable: true } },
    },
  });
});
