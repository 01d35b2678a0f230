/**
 * The audit log: every mutation has an entry, whatever its outcome, and no entry can be changed.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, createIdSource } from '../../../src/lib/clock.ts';
import { encodeAuditRow } from '../../../src/db/auditRows.ts';
import { createAuditLog } from '../../../src/identity/auditLog.ts';
import { PROGRAM_VERSION } from '../../../src/lib/programVersion.ts';
import { localId } from '../../../src/schema/core/globalIds.ts';
import { askOver, codesOf, TRANSPORTS } from '../../support/http/askOver.ts';
import { newToken as newTokenOn } from '../../support/http/creditTrade.ts';
import { startMarketplace, tokenOf, type Marketplace } from '../../support/http/marketplace.ts';
import { silentLog } from '../../../devnet/platform.ts';

let market: Marketplace;

beforeAll(async () => {
  market = await startMarketplace();
});
afterAll(() => market.stop());

interface Entry {
  id: string;
  field: string;
  outcome: string | null;
  errorCode: string | null;
  callerSubject: string | null;
  callerRoles: string[];
  remoteAddress: string;
  requestId: string;
  targetIds: string[];
  endedAt: number | null;
}

const operator = { role: 'operator', subject: 'ops' } as const;
const buyer = { role: 'buyer', subject: 'acme' } as const;

const ENTRIES = `query ($filter: AuditEntryFilter) { auditEntries(first: 20, filter: $filter) { edges { node {
  id field outcome errorCode callerSubject callerRoles remoteAddress requestId targetIds endedAt } } } }`;
const PURCHASE = 'mutation ($input: PurchaseInput!) { purchase(input: $input) { purchase { id } } }';

async function entries(filter: Record<string, unknown>): Promise<Entry[]> {
  const answer = await market.send<{ auditEntries: { edges: { node: Entry }[] } }>(
    ENTRIES,
    { filter },
    operator,
  );
  expect(answer.errors).toEqual([]);
  return answer.data?.auditEntries.edges.map(({ node }) => node) ?? [];
}

/** The finished entries about a target. The poll waits for outcomes, which follow the answers. */
async function finished(filter: Record<string, unknown>, count = 1): Promise<Entry[]> {
  await expect.poll(async () => (await entries(filter)).filter((entry) => entry.outcome).length).toBe(count);
  return entries(filter);
}

function purchaseInput(tokenAddress: string, overrides: Record<string, unknown> = {}) {
  return { buyerId: 'acme', tokenAddress, amountCO2e: 1, idempotencyKey: randomUUID(), ...overrides };
}

const newToken = () => newTokenOn(market, { quantityCO2e: 100 });

describe('every mutation leaves an entry', () => {
  it.each(TRANSPORTS)('that says who did what from where, over %s', async (transport) => {
    const tokenAddress = await newToken();
    const reply = await askOver(transport, market.url, {
      query: PURCHASE,
      variables: { input: purchaseInput(tokenAddress) },
      bearer: await tokenOf(buyer),
    });
    const { id } = (reply.data as { purchase: { purchase: { id: string } } }).purchase.purchase;
    const [entry] = await finished({ targetIds: [tokenAddress] });
    expect(entry).toMatchObject({
      field: 'purchase',
      outcome: 'OK',
      errorCode: null,
      callerSubject: 'acme',
      callerRoles: ['BUYER'],
      remoteAddress: expect.stringContaining('127.0.0.1') as string,
      requestId: reply.headers?.get('x-request-id') ?? (expect.any(String) as string),
    });
    expect(entry?.targetIds).toEqual(expect.arrayContaining(['acme', tokenAddress, localId(id)]));
    expect(entry?.endedAt).not.toBeNull();
    expect(await entries({ targetIds: [id] })).toEqual([entry]);
    expect(await entries({ targetIds: [localId(id)] })).toEqual([entry]);
  });

  it('also when it fails, or its input is refused', async () => {
    const tokenAddress = await newToken();
    for (const [amountCO2e, code] of [
      [101, 'INSUFFICIENT_SUPPLY'],
      [1, 'BAD_USER_INPUT'],
    ] as const) {
      const overrides = code === 'BAD_USER_INPUT' ? { idempotencyKey: '' } : {};
      const input = purchaseInput(tokenAddress, { amountCO2e, ...overrides });
      const answer = await market.send(PURCHASE, { input }, buyer);
      expect(answer.errors[0]?.extensions.code).toBe(code);
    }
    const left = await finished({ targetIds: [tokenAddress] }, 2);
    expect(left.map((entry) => entry.errorCode)).toEqual(['BAD_USER_INPUT', 'INSUFFICIENT_SUPPLY']);
  });

  it('that names once what both its input and its answer are about', async () => {
    const tokenAddress = await newToken();
    const found = await market.send<{ project: { id: string } }>(
      'query ($token: Address!) { project(tokenAddress: $token) { id } }',
      { token: tokenAddress },
    );
    const id = found.data?.project.id ?? '';
    const input = {
      projectId: id,
      pricePerTonne: { amount: '2', currency: 'EUR' },
      idempotencyKey: randomUUID(),
    };
    const price =
      'mutation ($input: SetProjectPriceInput!) { setProjectPrice(input: $input) { project { id } } }';
    expect((await market.send(price, { input }, operator)).errors).toEqual([]);
    const [entry] = await finished({ targetIds: [id], fields: ['setProjectPrice'] });
    expect(entry?.targetIds).toEqual([localId(id)]);
  });

  it('but for what a caller has no right to: strangers would fill the log, so it is counted', async () => {
    const { sql } = market.database.handle;
    const count = async () => Number((await sql`SELECT count(*) AS n FROM audit_entries`)[0]?.['n']);
    const tokenAddress = await newToken();
    const before = await count();
    const fifty = Array.from({ length: 50 }, (_, i) => `a${i}: purchase(input: $input) { purchase { id } }`);
    const flood = `mutation ($input: PurchaseInput!) { ${fifty.join(' ')} }`;
    const input = purchaseInput(tokenAddress);
    const codes = async (...sent: [typeof input, typeof buyer?]) =>
      (await market.send(flood, { input: sent[0] }, sent[1])).errors.map(({ extensions }) => extensions.code);
    expect(await codes(input)).toEqual(fifty.map(() => 'UNAUTHENTICATED'));
    const foreign = { ...input, buyerId: 'globex' };
    expect(await codes(foreign, buyer)).toEqual(fifty.map(() => 'FORBIDDEN'));
    const wrong = await market.send(flood, { input: { buyerId: 7 } });
    expect(wrong.errors[0]?.extensions.code).toBe('BAD_USER_INPUT');
    expect((await market.send(PURCHASE, { input }, buyer)).errors).toEqual([]);
    await finished({ targetIds: [tokenAddress] });
    expect(await count()).toBe(before + 1);
  });

  it('one for each of its fields', async () => {
    const tokenAddress = await newToken();
    const twice = `mutation ($a: PurchaseInput!, $b: PurchaseInput!) {
      one: purchase(input: $a) { purchase { id } } two: purchase(input: $b) { purchase { id } } }`;
    const variables = {
      a: purchaseInput(tokenAddress),
      b: purchaseInput(tokenAddress, { amountCO2e: 1000 }),
    };
    await market.send(twice, variables, buyer);
    const left = await finished({ targetIds: [tokenAddress] }, 2);
    expect(new Set(left.map((entry) => entry.errorCode))).toEqual(new Set(['INSUFFICIENT_SUPPLY', null]));
  });

  it('that holds nothing of what the input said but whom it is about', async () => {
    const farmer = { role: 'farmer', subject: `farmer-${randomUUID()}` } as const;
    const input = {
      tokenAmount: 1,
      fiatCurrency: 'KES',
      countryCode: 'KE',
      receiptTokenAddress: market.network.custodyAddress,
      payoutAccount: { type: 'MOBILE_MONEY', accountNumber: '254700123456', provider: 'MPESA' },
      idempotencyKey: randomUUID(),
    };
    const cashOut = 'mutation ($input: CashOutInput!) { cashOut(input: $input) { sessionId } }';
    expect((await market.send(cashOut, { input }, farmer)).errors[0]?.extensions.code).toBe('NOT_FOUND');
    const [entry] = await finished({ callerSubjects: [farmer.subject] });
    expect(entry?.targetIds).toEqual([market.network.custodyAddress]);
    const rows = await market.database.handle.sql`SELECT audit_entries::text AS row FROM audit_entries`;
    expect(JSON.stringify(rows)).not.toContain('254700123456');
  });
});

describe('the trail', () => {
  it('is for operators alone', async () => {
    expect((await market.send(ENTRIES, {}, buyer)).errors[0]?.extensions.code).toBe('FORBIDDEN');
    expect((await market.send(ENTRIES, {})).errors[0]?.extensions.code).toBe('UNAUTHENTICATED');
  });

  it('can be read by caller, field, outcome and time', async () => {
    const subject = `buyer-${randomUUID()}`;
    const token = await newToken();
    await market.send(
      PURCHASE,
      { input: purchaseInput(token, { buyerId: subject }) },
      { role: 'buyer', subject },
    );
    const [entry] = await finished({ callerSubjects: [subject] });
    const now = Math.floor(Date.now() / 1000);
    const found = async (filter: Record<string, unknown>) =>
      (await entries({ callerSubjects: [subject], ...filter })).length;
    expect(
      await found({ fields: ['purchase', 'retire'], outcomes: ['OK'], from: now - 60, until: now + 60 }),
    ).toBe(1);
    expect(await found({ fields: ['retire'] })).toBe(0);
    expect(await found({ outcomes: ['FAILED'] })).toBe(0);
    expect(await found({ errorCodes: ['FORBIDDEN'] })).toBe(0);
    expect(await found({ outcomes: [] })).toBe(0);
    expect(await found({ until: now - 60 })).toBe(0);
    expect(await found({ unfinished: true })).toBe(0);
    const node = 'query ($id: ID!) { node(id: $id) { id } }';
    const id = entry?.id;
    expect((await market.send(node, { id }, operator)).data).toEqual({ node: { id } });
    expect((await market.send(node, { id }, { role: 'buyer', subject })).data).toEqual({ node: null });
  });

  it('can be read by API key, without what its subject did with a token, and by dry run', async () => {
    const subject = `client-${randomUUID()}`;
    const expiresAt = Math.floor(Date.now() / 1000) + 3600;
    const { data } = await market.send<{ createApiKey: { key: string; apiKey: { id: string } } }>(
      `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { id } } }`,
      { input: { name: 'x', subject, roles: ['BUYER'], expiresAt, idempotencyKey: randomUUID() } },
      { role: 'admin', subject: 'root' },
    );
    const { key = '', apiKey } = data?.createApiKey ?? {};
    const tokenAddress = await newToken();
    const ask = async (bearer: string, dryRun: boolean) => {
      const input = purchaseInput(tokenAddress, { buyerId: subject, dryRun });
      return askOver('http', market.url, { query: PURCHASE, variables: { input }, bearer });
    };
    await ask(key, true);
    await ask(await tokenOf({ role: 'buyer', subject }), false);
    await finished({ callerSubjects: [subject] }, 2);
    const found = (filter: Record<string, unknown>) => entries({ callerSubjects: [subject], ...filter });
    const ofKey = [{ field: 'purchase', outcome: 'DRY_RUN', errorCode: null }];
    expect(await found({ apiKeyIds: [apiKey?.id] })).toMatchObject(ofKey);
    expect(await found({ outcomes: ['DRY_RUN'] })).toMatchObject(ofKey);
    expect(await found({ outcomes: ['FAILED'] })).toEqual([]);
  });

  it('is append-only: an outcome is added once, nothing else changes, nothing goes', async () => {
    await newToken();
    const { sql } = market.database.handle;
    const [id, writer] = [randomUUID(), randomUUID()];
    await sql`INSERT INTO audit_writers (id, started_at, program_version, entries) VALUES (${writer}, now(), 'test', 1)`;
    await sql`INSERT INTO audit_entries (id, kind, writer_id, number, started_at, request_id, caller_roles, remote_address, field,
        target_ids)
      VALUES (${id}, 'MUTATION', ${writer}, 1, now(), 'test', '{}', '127.0.0.1', 'retire', '{a}')`;
    await expect(sql`UPDATE audit_entries SET field = 'purchase' WHERE id = ${id}`).rejects.toThrow(/append/);
    const lessTargets = sql`
      UPDATE audit_entries SET outcome = 'OK', ended_at = now(), target_ids = '{}' WHERE id = ${id}`;
    await expect(lessTargets).rejects.toThrow(/append/);
    await sql`UPDATE audit_entries SET outcome = 'OK', ended_at = now() WHERE id = ${id}`;
    const again = sql`UPDATE audit_entries SET outcome = 'FORBIDDEN' WHERE id = ${id}`;
    await expect(again).rejects.toThrow(/append/);
    await expect(sql`DELETE FROM audit_entries WHERE id = ${id}`).rejects.toThrow(/append/);
    await expect(sql`TRUNCATE audit_entries CASCADE`).rejects.toThrow(/append/);
    await expect(sql`UPDATE audit_writers SET entries = 1 WHERE id = ${writer}`).rejects.toThrow(/only grow/);
    await expect(sql`DELETE FROM audit_writers WHERE id = ${writer}`).rejects.toThrow(/append/);
  });

  it('says of each process which version of the program it is of, and that stays', async () => {
    const input = purchaseInput(await newToken());
    await market.send(PURCHASE, { input }, buyer);
    const { sql } = market.database.handle;
    const writers = await sql<{ version: string; isStarted: boolean }[]>`
      SELECT DISTINCT program_version AS version, started_at BETWEEN now() - interval '1 hour' AND now() AS "isStarted"
      FROM audit_writers WHERE id IN (SELECT writer_id FROM audit_entries WHERE field IN ('createProject', 'purchase'))`;
    expect([...writers]).toEqual([{ version: PROGRAM_VERSION, isStarted: true }]);
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    expect(PROGRAM_VERSION).toContain(version);
    for (const change of ["program_version = '9.9.9'", "started_at = started_at - interval '1 day'"]) {
      const changed = sql.unsafe(`UPDATE audit_writers SET entries = entries + 1, ${change}`);
      await expect(changed, change).rejects.toThrow(/only grow/);
    }
  });

  it('comes first: what can not be written down is not done', async () => {
    const tokenAddress = await newToken();
    const { sql } = market.database.handle;
    const input = purchaseInput(tokenAddress);
    await sql`ALTER TABLE audit_entries ADD CONSTRAINT closed CHECK (field <> 'purchase') NOT VALID`;
    const refused = await askOver('http', market.url, {
      query: PURCHASE,
      variables: { input },
      bearer: await tokenOf(buyer),
    });
    await sql`ALTER TABLE audit_entries DROP CONSTRAINT closed`;
    expect(codesOf(refused)).toEqual(['OVERLOADED']);
    const bought = await sql`SELECT 1 FROM idempotency_keys WHERE key = ${input.idempotencyKey}`;
    expect(bought).toHaveLength(0);
    expect((await market.send(PURCHASE, { input }, buyer)).errors).toEqual([]);
  });

  it('gets its outcomes late rather than never, when the database refuses them for a while', async () => {
    const { handle } = market.database;
    const ids = createIdSource(systemClock);
    const trail = createAuditLog({ db: handle.db, clock: systemClock, ids, log: silentLog });
    const about = { caller: null, remoteAddress: '127.0.0.1', field: 'retire', targetIds: [] };
    const requestId = randomUUID();
    const open = Array.from({ length: 20 }, () => trail.open({ ...about, requestId }));
    await Promise.all(open.map((entry) => entry.begin()));
    await handle.sql`ALTER TABLE audit_entries ADD CONSTRAINT late CHECK (outcome <> 'OK') NOT VALID`;
    await Promise.all(open.map((entry) => entry.end({ outcome: 'OK', targetIds: ['x'] })));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await entries({ requestIds: [requestId], unfinished: true })).toHaveLength(20);
    await handle.sql`ALTER TABLE audit_entries DROP CONSTRAINT late`;
    await trail.stop();
    expect(await entries({ requestIds: [requestId], outcomes: ['OK'] })).toHaveLength(20);
  });

  it.each(['answers', 'fails too'])(
    'adds the outcome to a row whose commit lost its answer, when the next write %s',
    async (next) => {
      const { db, sql } = market.database.handle;
      const ids = createIdSource(systemClock);
      const trail = createAuditLog({ db, clock: systemClock, ids, log: silentLog });
      const requestId = randomUUID();
      const about = { caller: null, remoteAddress: '127.0.0.1', field: 'retire', targetIds: [] };
      const entry = trail.open({ ...about, requestId });
      const rows = JSON.stringify([encodeAuditRow(entry.row())]);
      await sql`SELECT insert_audit_entries(${randomUUID()}, 'test', ${rows}::text::json)`;
      if (next === 'fails too') await sql`ALTER FUNCTION insert_audit_entries RENAME TO gone`;
      const isKept = await entry.end({ outcome: 'INTERNAL_SERVER_ERROR', targetIds: ['x'] });
      if (next === 'fails too') await sql`ALTER FUNCTION gone RENAME TO insert_audit_entries`;
      await trail.stop();
      expect(isKept).toBe(next === 'answers');
      const [left] = await entries({ requestIds: [requestId] });
      expect(left).toMatchObject({ errorCode: 'INTERNAL_SERVER_ERROR', targetIds: ['x'] });
    },
  );

  it('numbers entries in their order, and those of one writer on', async () => {
    const { db, sql } = market.database.handle;
    const trail = createAuditLog({
      db,
      clock: systemClock,
      ids: createIdSource(systemClock),
      log: silentLog,
    });
    const about = { caller: null, remoteAddress: '127.0.0.1', field: 'retire', targetIds: [] };
    const requestId = randomUUID();
    const opened = Array.from({ length: 3 }, () => trail.open({ ...about, requestId }).row());
    const rows = opened.toSorted((one, other) => (one.id < other.id ? 1 : -1));
    const writer = randomUUID();
    for (const some of [rows.slice(0, 2), rows]) {
      const listed = JSON.stringify(some.map(encodeAuditRow));
      await sql`SELECT insert_audit_entries(${writer}, 'test', ${listed}::text::json)`;
    }
    const stored =
      await sql`SELECT id, number::int FROM audit_entries WHERE writer_id = ${writer} ORDER BY number`;
    expect(stored).toEqual(rows.map(({ id }, place) => ({ id, number: place + 1 })));
    await trail.stop();
  });
});
