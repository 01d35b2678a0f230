/**
 * The platform's own objects, and those of warehouses, by their ids: `node` gives them to the readers of their
 * lists, and to no other caller.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROLES, type Role } from '../../../src/identity/roles.ts';
import { startMarketplace, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';
import { newToken, operator, payloadOf } from '../../support/http/creditTrade.ts';

const WAREHOUSE = 'MSA-7';
const admin: TestCaller = { role: 'admin', subject: 'root' };

let market: Marketplace;
beforeAll(async () => {
  market = await startMarketplace({ withIndexer: false });
  await newToken(market);
});
afterAll(() => market.stop());

async function firstOf(list: string): Promise<string> {
  const answer = await market.send<Record<string, { nodes: { id: string }[] }>>(
    `{ ${list}(first: 1) { nodes { id } } }`,
    {},
    admin,
  );
  return answer.data?.[list]?.nodes[0]?.id ?? '';
}

async function made(field: string, type: string, made: string, input: object): Promise<string> {
  const selection = `${made} { id }`;
  const answer = await market.send<Record<string, Record<string, { id: string }>>>(
    `mutation ($input: ${type}!) { ${field}(input: $input) { ${selection} } }`,
    { input },
    admin,
  );
  return payloadOf(answer)[made]?.id ?? '';
}

const cap = { warehouseId: WAREHOUSE, commodityType: 'Maize', limitKg: 1_000 };
const key = () => ({
  name: 'a client',
  subject: 'client',
  roles: ['BUYER'],
  expiresAt: Math.floor(Date.now() / 1000) + 3_600,
  idempotencyKey: randomUUID(),
});

it.each<[type: string, make: () => Promise<string>, readers: readonly Role[]]>([
  ['ApiKey', () => made('createApiKey', 'CreateApiKeyInput', 'apiKey', key()), []],
  [
    'TokenRevocation',
    () => made('revokeTokens', 'RevokeTokensInput', 'tokenRevocation', { jti: 'a-token' }),
    [],
  ],
  ['AuditEntry', () => firstOf('auditEntries'), ['operator']],
  ['Submission', () => firstOf('submissions'), ['operator']],
  [
    'ExpiryRun',
    async () => {
      await market.send('mutation { expireReceipts { expiryRun { id } } }', {}, operator);
      return firstOf('expiryRuns');
    },
    ['operator'],
  ],
  ['IssuanceCap', () => made('setIssuanceCap', 'SetIssuanceCapInput', 'issuanceCap', cap), ['operator']],
])('%s', async (type, make, readers) => {
  const id = await make();
  expect(Buffer.from(id, 'base64url').toString()).toContain(`${type}:`);
  const seenBy = async (caller: TestCaller | null) => {
    const query = 'query ($id: ID!) { node(id: $id) { id } }';
    const { data, errors } = await market.send<{ node: { id: string } | null }>(query, { id }, caller);
    expect(errors).toEqual([]);
    return data?.node?.id === id;
  };
  const seeing = [];
  for (const role of ROLES) if (await seenBy({ role, subject: 'mallory' })) seeing.push(role);
  expect(seeing.toSorted()).toEqual([...readers, 'admin'].toSorted());
  expect(await seenBy(null)).toBe(false);
  expect(await seenBy({ role: 'warehouse', subject: WAREHOUSE })).toBe(type === 'IssuanceCap');
});
