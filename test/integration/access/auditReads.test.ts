/**
 * Reads by operators of other people's data: the audit log has an entry before the answer. Owners' reads of
 * their own data leave none.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { TRANSPARENCY_CONTRADICTIONS } from '../../../src/reconciliation/contradictions/transparency.ts';
import { prepareCashOutDeposit } from '../../../src/resolvers/wallets/prepareCashOutDeposit.ts';
import { changePastRules } from '../../support/database/database.ts';
import { askOver, TRANSPORTS } from '../../support/http/askOver.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';
import {
  startMarketplace,
  tokenOf,
  type Marketplace,
  type TestCaller,
} from '../../support/http/marketplace.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { depositInputOf } from '../../support/wallets/walletCashOuts.ts';
import { activeReceipt } from '../../support/warehouse.ts';

let market: Marketplace;
let receipt: { id: string; tokenAddress: string };

beforeAll(async () => {
  const limits = { aboveTonnes: 999n, aboveKilograms: 999n, lifetimeSeconds: 3600 };
  market = await startMarketplace({ approvalPolicy: { isRequired: true, ...limits } });
  const [first, second] = await Promise.all([deposit('wanjiru'), deposit('otieno')]);
  expect([first?.errors, second?.errors]).toEqual([[], []]);
  receipt = first?.data?.createDeposit.receipt ?? { id: '', tokenAddress: '' };
});
afterAll(() => market.stop());

const deposit = (farmerId: string) =>
  market.send<{ createDeposit: { receipt: { id: string; tokenAddress: string } } }>(
    'mutation ($input: CreateDepositInput!) { createDeposit(input: $input) { receipt { id tokenAddress } } }',
    { input: depositOf(farmerId, 10) },
    { role: 'warehouse', subject: 'depot' },
  );
const depositOf = (farmerId: string, quantityKg: number) => ({
  farmerAddress: market.network.custodyAddress,
  farmerId,
  commodityType: 'Maize',
  quantityKg,
  warehouseId: 'depot',
  gradeClassification: 'A',
  valuationUSD: 5,
  idempotencyKey: randomUUID(),
});

const auditor = { role: 'operator', subject: 'auditor' } as const;

interface Entry {
  field: string;
  kind: string;
  outcome: string | null;
  endedAt: number | null;
  errorCode: string | null;
  requestId: string;
  targetIds: string[];
}

async function readsBy(
  callerSubject: string,
  filter: { unfinished?: boolean; targetIds?: string[] } = {},
): Promise<Entry[]> {
  const answer = await market.send<{ auditEntries: { nodes: Entry[] } }>(
    `query ($filter: AuditEntryFilter) { auditEntries(first: 100, filter: $filter) {
      nodes { kind field outcome endedAt errorCode requestId targetIds } } }`,
    { filter: { callerSubjects: [callerSubject], kinds: ['READ'], ...filter } },
    auditor,
  );
  expect(answer.errors).toEqual([]);
  return answer.data?.auditEntries.nodes ?? [];
}

/** A new operator, so that each case reads only its own entries. */
const someOperator = (): TestCaller => ({ role: 'operator', subject: `ops-${randomUUID()}` });
const localId = (id: string) => Buffer.from(id, 'base64url').toString().split(':')[1] ?? '';

async function readAs(query: string, variables: Record<string, unknown> = {}, caller = someOperator()) {
  const answer = await market.send(query, variables, caller);
  expect(answer.errors).toEqual([]);
  return (await readsBy(caller.subject)).map(({ field, targetIds }) => [field, targetIds.toSorted()]);
}

const BY_TOKEN = 'query ($token: Address!) { receipt(tokenAddress: $token) { farmerId } }';

describe('what an operator reads of others leaves an entry', () => {
  it.each(TRANSPORTS)('with the request, the field and whose it is, over %s', async (transport) => {
    const caller = someOperator();
    const reply = await askOver(transport, market.url, {
      query: BY_TOKEN,
      variables: { token: receipt.tokenAddress },
      bearer: await tokenOf(caller),
    });
    expect(reply.data).toEqual({ receipt: { farmerId: 'wanjiru' } });
    const [entry, ...others] = await readsBy(caller.subject);
    expect(others).toEqual([]);
    // A read never gets an outcome, so it is not an operation that has not ended.
    expect(await readsBy(caller.subject, { unfinished: true })).toEqual([]);
    expect(entry).toMatchObject({
      kind: 'READ',
      field: 'receipt',
      outcome: null,
      endedAt: null,
      errorCode: null,
    });
    expect(entry?.requestId).not.toBe('');
    expect(entry?.targetIds.toSorted()).toEqual(['depot', 'wanjiru', receipt.tokenAddress].toSorted());
  });

  it('one for each field of the query, however many rows it shows', async () => {
    const query = `query ($id: ID!) {
      receipts { nodes { commodityType } }
      node(id: $id) { ... on Receipt { quantityKg } }
      account: buyerAccount(buyerId: "acme") { statement { totalCount } }
      projects { totalCount }
    }`;
    const entries = await readAs(query, { id: receipt.id });
    expect(new Map(entries as [string, string[]][])).toEqual(
      new Map([
        ['receipts', ['depot', 'otieno', 'wanjiru']],
        ['node', [localId(receipt.id), 'depot', 'wanjiru'].toSorted()],
        ['buyerAccount', ['acme']],
      ]),
    );
    expect(entries).toHaveLength(3);
  });

  it('also for a number of them, and for nothing found', async () => {
    const query = '{ receipts(filter: { farmerIds: ["unknown"] }) { totalCount } }';
    expect(await readAs(query)).toEqual([['receipts', ['unknown']]]);
  });

  it("for a deposit that awaits approval, and for a warehouse's caps", async () => {
    const deposit = await market.send<{ createDeposit: { approvalRequest: { id: string } } }>(
      'mutation ($input: CreateDepositInput!) { createDeposit(input: $input) { approvalRequest { id } } }',
      { input: depositOf('wanjiru', 1_000) },
      { role: 'warehouse', subject: 'depot' },
    );
    const cap = await market.send<{ setIssuanceCap: { issuanceCap: { id: string } } }>(
      `mutation { setIssuanceCap(input: { warehouseId: "depot", commodityType: "Maize", limitKg: 5000 }) {
        issuanceCap { id } } }`,
      {},
      auditor,
    );
    expect([deposit.errors, cap.errors]).toEqual([[], []]);
    expect(await readAs('{ approvalRequests { nodes { input { value } } } }')).toEqual([
      ['approvalRequests', ['depot', 'wanjiru']],
    ]);
    expect(await readAs('{ issuanceCaps { nodes { outstandingKg } } }')).toEqual([
      ['issuanceCaps', ['depot']],
    ]);
  });

  it('for an act of a cash-out that the operator has prepared for its farmer', async () => {
    const { dependencies } = market.app;
    const caller = someOperator();
    const holder = createEmbeddedHolder();
    const own = await activeReceipt(market.app, { farmerAddress: holder.address, farmerId: 'wanjiru' });
    const by = { subject: caller.subject, isOperator: true };
    const { act } = await prepareCashOutDeposit(dependencies, by, depositInputOf(own, holder));
    const actId = act?.id ?? '';
    const id = Buffer.from(`HolderAct:${actId}`).toString('base64url');
    const query = 'query ($id: ID!) { node(id: $id) { ... on HolderAct { amount } } }';
    expect(await readAs(query, { id }, caller)).toEqual([['node', [actId, 'wanjiru'].toSorted()]]);
  });

  it('for a subscription when it begins', async () => {
    const caller = someOperator();
    const socket = market.socket(caller);
    const events = socket.iterate({
      query: 'subscription ($id: ID!) { receiptUpdated(id: $id) { farmerId } }',
      variables: { id: receipt.id },
    });
    expect((await events.next()).value).toMatchObject({ data: { receiptUpdated: { farmerId: 'wanjiru' } } });
    const entries = (await readsBy(caller.subject)).map(({ field, targetIds }) => [field, targetIds]);
    expect(entries).toEqual([['receiptUpdated', [localId(receipt.id)]]]);
    await events.return?.();
  });

  it('with all of many owners, in as many entries as they need', async () => {
    const some = (kind: string) => Array.from({ length: 100 }, (_, at) => `${kind}-${at}`);
    const filter = { farmerIds: some('farmer'), lenderIds: some('lender'), warehouseIds: some('warehouse') };
    const query = 'query ($filter: ReceiptFilter) { receipts(filter: $filter) { totalCount } }';
    const caller = someOperator();
    const entries = await readAs(query, { filter }, caller);
    expect(entries.map(([field]) => field)).toEqual(['receipts', 'receipts']);
    expect(new Set(entries.flatMap(([, targets]) => targets))).toEqual(new Set(Object.values(filter).flat()));
    const { sql: run } = market.database.handle;
    const times =
      await run`SELECT DISTINCT started_at FROM audit_entries WHERE caller_subject = ${caller.subject}`;
    expect(times, 'all from when the field began').toHaveLength(1);
  });
});

describe('no entry is left', () => {
  it.each<[string, string, TestCaller]>([
    [
      'a buyer reads its account',
      '{ buyerAccount { balances { totalCount } } }',
      { role: 'buyer', subject: 'b1' },
    ],
    [
      'a farmer reads its receipts',
      '{ receipts { nodes { farmerId } } }',
      { role: 'farmer', subject: 'wanjiru' },
    ],
    [
      'a warehouse reads its deposits',
      '{ receipts { nodes { farmerId } } }',
      { role: 'warehouse', subject: 'depot' },
    ],
    [
      'an operator reads what is public',
      '{ projects { nodes { id } } retirementRecords { totalCount } }',
      someOperator(),
    ],
    ['an operator reads what is the platform’s', '{ submissions { nodes { id } } }', someOperator()],
    ['an operator finds nothing', '{ receipt(tokenAddress: "CUNKNOWN") { farmerId } }', someOperator()],
  ])('when %s', async (_when, query, caller) => {
    expect(await readAs(query, {}, caller)).toEqual([]);
  });
});

it('is found by a farmer whose subject looks like the id of an object', async () => {
  const farmerId = Buffer.from(`Purchase:${randomUUID()}`).toString('base64url');
  const { data } = await deposit(farmerId);
  const caller = someOperator();
  await readAs(BY_TOKEN, { token: data?.createDeposit.receipt.tokenAddress }, caller);
  expect(await readsBy(caller.subject, { targetIds: [farmerId] })).toHaveLength(1);
});

it('is one leaf of the transparency log, with whose data it is', async () => {
  const caller = someOperator();
  await readAs(BY_TOKEN, { token: receipt.tokenAddress }, caller);
  const { sql: run } = market.database.handle;
  await logAll(market.app.dependencies.logs);
  // The log has nothing to add to the entry.
  expect(
    await run`SELECT 1 FROM transparency_open_entries o JOIN audit_entries e ON e.id = o.entry_id
      WHERE e.caller_subject = ${caller.subject}`,
  ).toEqual([]);
  const ofLogs = async () =>
    (await Promise.all(TRANSPARENCY_CONTRADICTIONS.map(({ query }) => run.unsafe(query)))).flat();
  expect(await ofLogs()).toEqual([]);
  const change = (from: string, to: string) =>
    changePastRules(
      market.database,
      sql`UPDATE audit_entries SET target_ids = array_replace(target_ids, ${from}, ${to})
        WHERE caller_subject = ${caller.subject}`,
    );
  await change('wanjiru', 'otieno');
  expect(await ofLogs()).toMatchObject([{ message: expect.stringContaining('audit entry') as unknown }]);
  await change('otieno', 'wanjiru');
});

it('shows nothing of others that it can not write down', async () => {
  const { sql: run } = market.database.handle;
  await run`ALTER TABLE audit_entries ADD CONSTRAINT no_reads CHECK (kind <> 'READ') NOT VALID`;
  try {
    const token = { token: receipt.tokenAddress };
    const answer = await market.send(BY_TOKEN, token, someOperator());
    expect(answer).toMatchObject({ data: null, errors: [{ extensions: { code: 'OVERLOADED' } }] });
    expect(JSON.stringify(answer)).not.toContain('wanjiru');
    const own = await market.send(BY_TOKEN, token, { role: 'farmer', subject: 'wanjiru' });
    expect(own.data).toEqual({ receipt: { farmerId: 'wanjiru' } });
  } finally {
    await run`ALTER TABLE audit_entries DROP CONSTRAINT no_reads`;
  }
});
