/**
 * API keys from creation to revocation on two instances: which rights a key gives, and what ends with it.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKeys } from '../../../src/db/tables/index.ts';
import { changePastRules } from '../../support/database/database.ts';
import { askOver, codesOf, TRANSPORTS } from '../../support/http/askOver.ts';
import { startMarketplace, tokenOf, type Marketplace } from '../../support/http/marketplace.ts';
import { openSocket, openStream } from '../../support/http/openedWith.ts';

let market: Marketplace;

beforeAll(async () => {
  market = await startMarketplace();
});
afterAll(() => market.stop());

const admin = { role: 'admin', subject: 'root' } as const;

const CREATE = `mutation ($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { key apiKey { id name prefix subject roles warehouseIds createdBy revokedAt } } }`;
const REVOKE = `mutation ($input: RevokeApiKeyInput!) {
  revokeApiKey(input: $input) { apiKey { id revokedAt revokedBy } } }`;

interface Made {
  createApiKey: { key: string; apiKey: { id: string; prefix: string } & Record<string, unknown> };
}

function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

function keyInput(overrides: Record<string, unknown> = {}) {
  return {
    name: 'billing',
    subject: 'acme',
    roles: ['BUYER'],
    expiresAt: inSeconds(3600),
    idempotencyKey: randomUUID(),
    ...overrides,
  };
}

async function makeKey(overrides: Record<string, unknown> = {}) {
  const answer = await market.send<Made>(CREATE, { input: keyInput(overrides) }, admin);
  expect(answer.errors).toEqual([]);
  const { key, apiKey } = answer.data?.createApiKey ?? { key: '', apiKey: { id: '', prefix: '' } };
  return { key, apiKey };
}

const revoke = (id: string) => market.send(REVOKE, { input: { apiKeyId: id } }, admin);

const BALANCE = '{ buyerAccount(buyerId: "acme") { buyerId } }';

describe('an API key', () => {
  it.each(TRANSPORTS)('speaks for its subject alone over %s', async (transport) => {
    const { key } = await makeKey();
    const own = await askOver(transport, market.url, { query: BALANCE, bearer: key });
    expect(own.data).toEqual({ buyerAccount: { buyerId: 'acme' } });
    const others = await askOver(transport, market.url, {
      query: BALANCE.replace('acme', 'globex'),
      bearer: key,
    });
    expect(codesOf(others)).toEqual(['FORBIDDEN']);
  });

  it('is shown once and kept as a hash, with its beginning to recognise it by', async () => {
    const { key, apiKey } = await makeKey({ name: 'shown once' });
    expect(key.startsWith(`${apiKey.prefix}_`)).toBe(true);
    const secret = key.slice(apiKey.prefix.length + 1);
    expect(secret).toHaveLength(43);
    const dump = await market.database.handle.sql`SELECT api_keys::text AS row FROM api_keys`;
    expect(JSON.stringify(dump)).not.toContain(secret);
    const hash = await market.database.handle.db
      .select({ ofKey: sql<boolean>`key_hash = sha256(${key}::bytea)` })
      .from(apiKeys)
      .where(eq(apiKeys.name, 'shown once'));
    expect(hash).toEqual([{ ofKey: true }]);
  });

  it('is made once for one idempotency key, and shown by the first answer alone', async () => {
    const input = keyInput({ subject: `client-${randomUUID()}`, roles: ['BUYER', 'FARMER'] });
    const make = (overrides: Record<string, unknown> = {}) =>
      market.send<{ createApiKey: { key: string | null; apiKey: { id: string } } }>(
        CREATE,
        { input: { ...input, ...overrides } },
        admin,
      );
    const answers = await Promise.all([make(), make(), make({ roles: ['FARMER', 'BUYER', 'FARMER'] })]);
    expect(answers.flatMap(({ errors }) => errors)).toEqual([]);
    const made = answers.map(({ data }) => data?.createApiKey);
    expect(new Set(made.map((one) => one?.apiKey.id)).size).toBe(1);
    expect(made.filter((one) => one?.key !== null)).toHaveLength(1);
    for (const other of [
      { name: 'another client' },
      { subject: `client-${randomUUID()}` },
      { roles: ['BUYER'] },
      { roles: ['BUYER', 'FARMER', 'WAREHOUSE'] },
      { expiresAt: inSeconds(7200) },
    ]) {
      const { errors } = await make(other);
      expect(errors[0]?.extensions.code, JSON.stringify(other)).toBe('IDEMPOTENCY_CONFLICT');
    }
    const keys = market.database.handle.sql`SELECT 1 FROM api_keys WHERE subject = ${input.subject}`;
    expect(await keys).toHaveLength(1);
  });

  it('of other warehouses is not made under the same idempotency key', async () => {
    const input = keyInput({ subject: 'depot', roles: ['WAREHOUSE'], warehouseIds: ['w-1'] });
    const make = (warehouseIds: string[]) =>
      market.send(CREATE, { input: { ...input, warehouseIds } }, admin);
    expect((await make(['w-1'])).errors).toEqual([]);
    expect((await make(['w-1', 'w-1'])).errors).toEqual([]);
    expect((await make(['w-1', 'w-2'])).errors[0]?.extensions.code).toBe('IDEMPOTENCY_CONFLICT');
  });

  it('is listed for administrators, with its last use', async () => {
    const subject = `client-${randomUUID()}`;
    const { key, apiKey } = await makeKey({ subject });
    const list = `query ($subject: String!, $active: Boolean) {
      apiKeys(first: 10, filter: { subjects: [$subject], active: $active }) { edges { node { id lastUsedAt } } } }`;
    const unused = await market.send(list, { subject, active: true }, admin);
    expect(unused.data).toEqual({ apiKeys: { edges: [{ node: { id: apiKey.id, lastUsedAt: null } }] } });
    await askOver('http', market.url, { query: '{ __typename }', bearer: key });
    await expect
      .poll(async () => JSON.stringify((await market.send(list, { subject }, admin)).data))
      .toMatch(/"lastUsedAt":\d{10}/);
    const find = async (active: boolean) => (await market.send(list, { subject, active }, admin)).data;
    expect(await find(false)).toEqual({ apiKeys: { edges: [] } });
    const { handle } = market.database;
    await changePastRules({ handle }, sql`UPDATE api_keys SET expires_at = now() WHERE subject = ${subject}`);
    expect(await find(true)).toEqual({ apiKeys: { edges: [] } });
    expect(await find(false)).toMatchObject({ apiKeys: { edges: [{ node: { id: apiKey.id } }] } });
    const operators = await market.send(list, { subject }, { role: 'operator', subject: 'ops' });
    expect(operators.errors[0]?.extensions.code).toBe('FORBIDDEN');
    const node = 'query ($id: ID!) { node(id: $id) { id } }';
    expect((await market.send(node, { id: apiKey.id }, admin)).data).toEqual({ node: { id: apiKey.id } });
    for (const caller of [{ role: 'operator', subject: 'ops' } as const, { role: 'buyer', subject } as const])
      expect((await market.send(node, { id: apiKey.id }, caller)).data).toEqual({ node: null });
  });

  it.each([
    ['without roles', { roles: [] }],
    ['for no time', { expiresAt: inSeconds(0) }],
    ['for ever', { expiresAt: inSeconds(500 * 86_400) }],
    ['with an impossible subject', { subject: 'acme evil' }],
    ['with warehouses but without their role', { warehouseIds: ['w-1'] }],
    ['with too many warehouses', { warehouseIds: Array.from({ length: 101 }, (_, i) => `w${i}`) }],
  ])('is not made %s', async (_how, overrides) => {
    const answer = await market.send(CREATE, { input: keyInput(overrides) }, admin);
    expect(answer.errors[0]?.extensions.code).toBe('BAD_USER_INPUT');
  });

  it('of an administrator makes no others', async () => {
    const { key } = await makeKey({ subject: 'root', roles: ['ADMIN'] });
    const answer = await askOver('http', market.url, {
      query: CREATE,
      variables: { input: keyInput() },
      bearer: key,
    });
    expect(codesOf(answer)).toEqual(['FORBIDDEN']);
  });

  it('with role WAREHOUSE acts for its warehouses alone', async () => {
    const { key } = await makeKey({ subject: 'depot', roles: ['WAREHOUSE'], warehouseIds: ['w-1', 'w-2'] });
    const deposit = (warehouseId: string) =>
      askOver('http', market.url, {
        query: 'mutation ($input: CreateDepositInput!) { createDeposit(input: $input) { tokenAddress } }',
        variables: {
          input: {
            farmerAddress: market.network.custodyAddress,
            commodityType: 'Maize',
            quantityKg: 10,
            warehouseId,
            gradeClassification: 'A',
            valuationUSD: 5,
            idempotencyKey: randomUUID(),
          },
        },
        bearer: key,
      });
    expect((await deposit('w-2')).errors).toEqual([]);
    expect(codesOf(await deposit('w-3'))).toEqual(['FORBIDDEN']);
    expect(codesOf(await deposit('depot'))).toEqual(['FORBIDDEN']);
  });

  it.each([
    ['of role WAREHOUSE has its subject as warehouse', 'WAREHOUSE', undefined, ['depot']],
    ['of role WAREHOUSE may have no warehouse', 'WAREHOUSE', [], []],
    ['of another role has no warehouse', 'BUYER', undefined, []],
    ['of another role has no warehouse', 'BUYER', [], []],
  ])('%s (%s, %j)', async (_which, role, given, warehouseIds) => {
    const { apiKey } = await makeKey({ subject: 'depot', roles: [role], warehouseIds: given });
    expect(apiKey).toMatchObject({ warehouseIds, createdBy: admin.subject });
  });
});

describe('a key that is not good any more', () => {
  it.each(TRANSPORTS)('is refused over %s, saying why', async (transport) => {
    const { key, apiKey } = await makeKey();
    const wrongSecret = `${apiKey.prefix}_${'x'.repeat(43)}`;
    const unknown = `atm_${'0'.repeat(32)}_${'x'.repeat(43)}`;
    await revoke(apiKey.id);
    for (const [bearer, why] of [
      [key, 'The API key was revoked.'],
      [wrongSecret, 'The API key is not known.'],
      [unknown, 'The API key is not known.'],
      ['atm_short', 'The API key is not known.'],
    ] as const) {
      const reply = await askOver(transport, market.url, { query: '{ __typename }', bearer });
      if (transport === 'websocket') expect([reply.closeCode, reply.closeReason]).toEqual([4403, why]);
      else expect([reply.status, reply.errors[0]?.message]).toEqual([401, why]);
    }
  });

  it('is fixed in the database: no other rights, no longer life, no return', async () => {
    const { apiKey } = await makeKey();
    await revoke(apiKey.id);
    const { sql: run } = market.database.handle;
    const [row] = await run`SELECT id FROM api_keys WHERE revoked_at IS NOT NULL LIMIT 1`;
    const id = String(row?.['id']);
    for (const change of [
      "roles = '{admin}'",
      "expires_at = now() + interval '9 years'",
      'revoked_at = NULL, revoked_by = NULL',
    ]) {
      await expect(run.unsafe(`UPDATE api_keys SET ${change} WHERE id = '${id}'`)).rejects.toThrow(
        /is fixed|is set once/,
      );
    }
    await expect(run`DELETE FROM api_keys WHERE id = ${id}`).rejects.toThrow(/append-only/);
  });

  it('can be revoked again, and nothing changes', async () => {
    const { apiKey } = await makeKey();
    const first = await revoke(apiKey.id);
    expect((await revoke(apiKey.id)).data).toEqual(first.data);
    const unknown = Buffer.from(`ApiKey:${randomUUID()}`).toString('base64url');
    expect((await revoke(unknown)).errors[0]?.extensions.code).toBe('NOT_FOUND');
  });
});

describe('what was opened with a key closes with it', () => {
  it('on this instance and on another, sockets and event streams', async () => {
    const other = await startMarketplace({ database: market.database, withIndexer: false });
    const { key, apiKey } = await makeKey();
    const feed = 'subscription { retirementFeed { cursor } }';
    const closings = await Promise.all(
      [market.url, other.url].flatMap((url) => [openSocket(url, key), openStream(url, key, feed)]),
    );
    expect((await revoke(apiKey.id)).errors).toEqual([]);
    const ends = await Promise.all(closings.map((closing) => closing.ended));
    expect(ends).toEqual([
      '4403 The API key was revoked.',
      'complete',
      '4403 The API key was revoked.',
      'complete',
    ]);
    await other.stop();
  });

  it('also when no notification came', async () => {
    const { key, apiKey } = await makeKey();
    const socket = await openSocket(market.url, key);
    const id = Buffer.from(apiKey.id, 'base64url').toString().split(':')[1] ?? '';
    await market.database.handle.db
      .update(apiKeys)
      .set({ revokedAt: new Date(), revokedBy: 'another program' })
      .where(eq(apiKeys.id, id));
    expect(await socket.ended).toBe('4403 The API key was revoked.');
    const status = async () =>
      (await askOver('http', market.url, { query: '{ __typename }', bearer: key })).status;
    await expect.poll(status).toBe(401);
  });

  it('while others go on', async () => {
    const ended = await openSocket(market.url, (await makeKey()).key);
    const { key, apiKey } = await makeKey();
    const revoked = await openSocket(market.url, key);
    const people = await openSocket(market.url, await tokenOf({ role: 'buyer', subject: 'acme' }));
    await revoke(apiKey.id);
    await revoked.ended;
    expect([ended.isOpen(), people.isOpen()]).toEqual([true, true]);
    ended.close();
    people.close();
  });
});
