/**
 * Caps of issuance: a warehouse's outstanding receipts never exceed its cap for a commodity, however many
 * deposits come at once.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { offRampSessions, receipts } from '../../../src/db/tables/index.ts';
import { changePastRules } from '../../support/database/database.ts';
import { mutate, operator, payloadOf } from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { activeReceipt, depositedCashOut, depositInput } from '../../support/warehouse.ts';

let market: Marketplace;
beforeAll(async () => {
  market = await startMarketplace({ withIndexer: false });
});
afterAll(() => market.stop());

const newWarehouse = () => `WH-${randomUUID().slice(0, 8)}`;

const CAP = 'issuanceCap { warehouseId commodityType limitKg outstandingKg setBy }';

const setCap = (warehouseId: string, limitKg: number | null, commodityType = 'Maize') =>
  market.send<{ setIssuanceCap: { issuanceCap: Record<string, unknown> | null } }>(
    `mutation ($input: SetIssuanceCapInput!) { setIssuanceCap(input: $input) { ${CAP} } }`,
    { input: { warehouseId, commodityType, limitKg } },
    operator,
  );

const removeCap = (id: string) =>
  market.send<{ removeIssuanceCap: { issuanceCap: Record<string, unknown> } }>(
    `mutation ($id: ID!) { removeIssuanceCap(input: { issuanceCapId: $id }) { ${CAP} } }`,
    { id },
    operator,
  );

/** The ids of a warehouse's caps in force. */
const capIds = async (warehouseId: string) => {
  const { data } = await market.send<{ issuanceCaps: { nodes: { id: string }[] } }>(
    'query ($ids: [String!]) { issuanceCaps(filter: { warehouseIds: $ids }) { nodes { id } } }',
    { ids: [warehouseId] },
    operator,
  );
  return data?.issuanceCaps.nodes.map(({ id }) => id) ?? [];
};

function deposit(warehouseId: string, quantityKg: number | string, more: Record<string, unknown> = {}) {
  const { valuationUSD, ...input } = depositInput(market.app, { warehouseId });
  return mutate<{ receipt: { state: string } | null; dryRun: unknown }>(
    market,
    ['createDeposit', 'CreateDepositInput', 'receipt { state } dryRun { tokenName }'],
    { ...input, valuationUSD: Number(valuationUSD), quantityKg, ...more },
    { role: 'warehouse', subject: warehouseId },
  );
}

const outstanding = async (warehouseId: string) => {
  const { data } = await market.send<{ issuanceCaps: { nodes: { outstandingKg: string }[] } }>(
    '{ issuanceCaps(first: 10) { nodes { warehouseId outstandingKg } } }',
    {},
    { role: 'warehouse', subject: warehouseId },
  );
  return data?.issuanceCaps.nodes;
};

it('lets no two deposits at once exceed the cap, and says what is left', async () => {
  const warehouseId = newWarehouse();
  const { issuanceCap: cap } = payloadOf(await setCap(warehouseId, 1_000));
  expect(cap).toEqual({
    warehouseId,
    commodityType: 'Maize',
    limitKg: '1000',
    outstandingKg: '0',
    setBy: 'ops',
  });
  const answers = await Promise.all(Array.from({ length: 4 }, () => deposit(warehouseId, 400)));
  const refused = answers.flatMap(({ errors }) => errors.map(({ extensions }) => extensions));
  expect(refused).toHaveLength(2);
  expect(refused[0]).toMatchObject({
    code: 'ISSUANCE_CAP_EXCEEDED',
    field: 'input.quantityKg',
    limitKg: '1000',
    outstandingKg: '800',
    requestedKg: '400',
  });
  expect(await outstanding(warehouseId)).toEqual([{ warehouseId, outstandingKg: '800' }]);
  const dry = await deposit(warehouseId, 201, { dryRun: true });
  expect(dry.errors[0]?.extensions.code).toBe('ISSUANCE_CAP_EXCEEDED');
  expect((await deposit(warehouseId, 200)).errors).toEqual([]);
});

it('counts every spelling of a commodity, and lets no other pass under its cap', async () => {
  const warehouseId = newWarehouse();
  await setCap(warehouseId, 500, 'White  Maize');
  expect((await deposit(warehouseId, 300, { commodityType: 'white maize' })).errors).toEqual([]);
  expect((await deposit(warehouseId, 100, { commodityType: 'White Maize' })).errors).toEqual([]);
  const codes = async (commodityType: string) =>
    (await deposit(warehouseId, 300, { commodityType })).errors.map(({ extensions }) => extensions);
  expect(await codes('ＷＨＩＴＥ͏ MAIZE')).toMatchObject([{ outstandingKg: '400' }]);
  expect(await codes('Maize grain')).toMatchObject([
    { code: 'ISSUANCE_CAP_EXCEEDED', field: 'input.commodityType', limitKg: '0' },
  ]);
  // The operator corrects the spelling that is shown.
  expect(payloadOf(await setCap(warehouseId, 500, 'White Maize')).issuanceCap).toMatchObject({
    commodityType: 'White Maize',
    outstandingKg: '400',
  });
  const [id = ''] = await capIds(warehouseId);
  expect(payloadOf(await removeCap(id)).issuanceCap).toMatchObject({ commodityType: 'White Maize' });
  expect((await deposit(warehouseId, 300, { commodityType: 'Maize grain' })).errors).toEqual([]);
});

it('gives back what expired, was refused or was settled, and keeps what a lowered cap finds', async () => {
  const warehouseId = newWarehouse();
  await setCap(warehouseId, 3_000);
  const cashedOut = await activeReceipt(market.app, { warehouseId });
  const session = await depositedCashOut(market.app, cashedOut);
  const expired = await activeReceipt(market.app, { warehouseId });
  await activeReceipt(market.app, { warehouseId });
  expect(await outstanding(warehouseId)).toMatchObject([{ outstandingKg: '3000' }]);
  const settled = sql`UPDATE ${offRampSessions} SET state = 'SETTLED', resolution = 'SETTLE', resolution_tx_hash = 'h',
    released_at = now(), ended_at = now(), due_at = NULL WHERE id = ${session.id}`;
  await changePastRules(market.database, settled);
  await market.app.dependencies.db
    .update(receipts)
    .set({ state: 'EXPIRED', expiredAt: new Date() })
    .where(eq(receipts.id, expired.id));
  expect(await outstanding(warehouseId)).toMatchObject([{ outstandingKg: '1900' }]);
  expect(payloadOf(await setCap(warehouseId, 1)).issuanceCap).toMatchObject({
    limitKg: '1',
    outstandingKg: '1900',
  });
  expect((await deposit(warehouseId, 1)).errors[0]?.extensions.code).toBe('ISSUANCE_CAP_EXCEEDED');
  expect(await outstanding(newWarehouse())).toEqual([]);
});

it('keeps every cap that was in force, and shows the last one', async () => {
  const warehouseId = newWarehouse();
  const { sql } = market.database.handle;
  for (const limitKg of [100, 10_000, 10_000, 200]) await setCap(warehouseId, limitKg);
  expect(await outstanding(warehouseId)).toHaveLength(1);
  const history = () =>
    sql`SELECT number, limit_kg, set_by FROM issuance_caps WHERE warehouse_id = ${warehouseId} ORDER BY number`;
  const set = [
    { number: 1, limit_kg: '100', set_by: 'ops' },
    { number: 2, limit_kg: '10000', set_by: 'ops' },
    { number: 3, limit_kg: '200', set_by: 'ops' },
  ];
  // Setting the same cap again changes nothing.
  expect(await history()).toEqual(set);
  // A limit that is null by mistake would leave the warehouse without a cap.
  expect((await setCap(warehouseId, null)).errors).toMatchObject([
    { extensions: { code: 'BAD_USER_INPUT', field: 'input.limitKg' } },
  ]);
  const [id = ''] = await capIds(warehouseId);
  for (let i = 0; i < 2; i++) {
    expect(payloadOf(await removeCap(id)).issuanceCap).toMatchObject({ warehouseId, limitKg: '200' });
  }
  const unknown = Buffer.from(`IssuanceCap:${randomUUID()}`).toString('base64url');
  expect((await removeCap(unknown)).errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }]);
  expect(await outstanding(warehouseId)).toEqual([]);
  expect(await history()).toEqual([...set, { number: 4, limit_kg: null, set_by: 'ops' }]);
  const refused = (query: Promise<unknown>, message: string) => expect(query).rejects.toThrow(message);
  await refused(
    sql`UPDATE issuance_caps SET limit_kg = 1 WHERE warehouse_id = ${warehouseId}`,
    'append-only',
  );
  await refused(sql`DELETE FROM issuance_caps WHERE warehouse_id = ${warehouseId}`, 'append-only');
  const further = (number: number, id: string | null) =>
    sql`INSERT INTO issuance_caps SELECT coalesce(${id}, id), warehouse_id, commodity_type, commodity_key, ${number}, 1, set_by, set_at
      FROM issuance_caps WHERE warehouse_id = ${warehouseId} AND number = 1`;
  await refused(further(6, null), 'does not follow');
  await refused(further(5, randomUUID()), 'does not follow');
});

it('takes changes at once one after the other', async () => {
  const warehouseId = newWarehouse();
  const answers = await Promise.all([100, 200, 300, 400].map((limitKg) => setCap(warehouseId, limitKg)));
  expect(answers.flatMap(({ errors }) => errors)).toEqual([]);
  expect(await outstanding(warehouseId)).toHaveLength(1);
});

it('shows an outstanding sum that is larger than any single deposit may be', async () => {
  const warehouseId = newWarehouse();
  const largest = (2n ** 63n - 1n).toString();
  for (let i = 0; i < 2; i++) expect((await deposit(warehouseId, largest)).errors).toEqual([]);
  await setCap(warehouseId, 1_000);
  const sum = (2n * (2n ** 63n - 1n)).toString();
  expect(await outstanding(warehouseId)).toEqual([{ warehouseId, outstandingKg: sum }]);
});

it('gives no room for kilograms that were settled twice', async () => {
  const warehouseId = newWarehouse();
  await setCap(warehouseId, 2_000);
  const session = await depositedCashOut(market.app, await activeReceipt(market.app, { warehouseId }));
  await activeReceipt(market.app, { warehouseId });
  await changePastRules(
    market.database,
    sql`UPDATE ${offRampSessions} SET token_amount_kg = 1500, state = 'SETTLED', resolution = 'SETTLE', resolution_tx_hash = 'h',
      released_at = now(), ended_at = now(), due_at = NULL WHERE id = ${session.id}`,
  );
  expect(await outstanding(warehouseId)).toMatchObject([{ outstandingKg: '1000' }]);
});
