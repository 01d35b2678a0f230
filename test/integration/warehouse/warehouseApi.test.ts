/**
 * The warehouse side for its clients over HTTP: the rights and views of each role, and payout accounts that
 * are never shown again.
 */
import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attempts } from '../../../src/db/tables/index.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { startMarketplace, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';
import { ACCOUNT_NUMBER } from '../../support/warehouse.ts';

const warehouse: TestCaller = { role: 'warehouse', subject: 'NBO-7' };
const farmer: TestCaller = { role: 'farmer', subject: 'wanjiku' };
const otherFarmer: TestCaller = { role: 'farmer', subject: 'otieno' };
const operator: TestCaller = { role: 'operator', subject: 'olga' };

let marketplace: Marketplace;
/** Everything the server logged, at the finest level. */
let logged = '';

beforeAll(async () => {
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logged += chunk.toString();
      done();
    },
  });
  marketplace = await startMarketplace({ withIndexer: false, log: pino({ level: 'trace' }, sink) });
});
afterAll(async () => {
  const report = await reconcileAll(marketplace.app.dependencies);
  await marketplace.stop();
  expect(report.findings).toEqual([]);
});

const DEPOSIT = `mutation Deposit($input: CreateDepositInput!) {
  createDeposit(input: $input) { tokenAddress txHash receipt { id state assetId quantityKg valuationUSD } }
}`;

const CASH_OUT = `mutation OffRampSession($input: CashOutInput!) {
  cashOut(input: $input) {
    sessionId txHash offRampSession { id state payout { amount currency } payoutAccount { type maskedAccountNumber } }
  }
}`;

const SESSION = `query Session($id: ID!) {
  offRampSession(id: $id) {
    state exposed providerHistory { status } transactions { kind state txHash } receipt { tokenAddress }
  }
}`;

interface Deposited {
  createDeposit: { tokenAddress: string; txHash: string; receipt: { id: string; state: string } };
}
interface CashedOut {
  cashOut: { sessionId: string; txHash: string; offRampSession: { id: string; state: string } };
}

async function depositInput(overrides: Record<string, unknown> = {}) {
  return {
    farmerAddress: marketplace.network.custodyAddress,
    farmerId: farmer.subject,
    commodityType: 'Maize',
    quantityKg: 5000,
    warehouseId: warehouse.subject,
    gradeClassification: 'Grade 1',
    valuationUSD: '2000',
    idempotencyKey: randomUUID(),
    ...overrides,
  };
}

async function deposited(): Promise<string> {
  const input = await depositInput();
  const answer = await marketplace.send<Deposited>(DEPOSIT, { input }, warehouse);
  return answer.data?.createDeposit.tokenAddress ?? '';
}

function cashOutInput(receiptTokenAddress: string, overrides: Record<string, unknown> = {}) {
  return {
    receiptTokenAddress,
    tokenAmount: '1000',
    fiatCurrency: 'KES',
    countryCode: 'KE',
    payoutAccount: { type: 'MOBILE_MONEY', accountNumber: ACCOUNT_NUMBER, provider: 'Airtel' },
    idempotencyKey: randomUUID(),
    ...overrides,
  };
}

async function stateOf(id: string, caller = farmer) {
  const answer = await marketplace.send<{ offRampSession: { state: string } }>(SESSION, { id }, caller);
  return answer.data?.offRampSession;
}

describe('a receipt over the API', () => {
  it.each(['warehouseLocation', 'harvestSeason'])('is not deposited with an empty %s', async (name) => {
    const input = await depositInput({ [name]: ' ' });
    const { errors } = await marketplace.send(DEPOSIT, { input }, warehouse);
    expect(errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: `input.${name}` });
  });

  it('is deposited, quoted, cashed out, paid and settled', async () => {
    const made = await marketplace.send<Deposited>(DEPOSIT, { input: await depositInput() }, warehouse);
    expect(made.errors ?? []).toEqual([]);
    expect(made.data?.createDeposit.receipt).toMatchObject({
      state: 'ACTIVE',
      quantityKg: '5000',
      valuationUSD: '2000',
    });
    const tokenAddress = made.data?.createDeposit.tokenAddress ?? '';

    const quote = await marketplace.send(
      '{ offRampQuote(tokenAmount: 1000, fiatCurrency: "KES") { payout { amount currency } fee { amount currency } feeBps exchangeRate } }',
      {},
      farmer,
    );
    expect(quote.data).toEqual({
      offRampQuote: {
        payout: { amount: '49250.00', currency: 'KES' },
        fee: { amount: '750.00', currency: 'KES' },
        feeBps: 150,
        exchangeRate: '0.02',
      },
    });

    const input = cashOutInput(tokenAddress);
    const begun = await marketplace.send<CashedOut>(CASH_OUT, { input }, farmer);
    expect(begun.data?.cashOut.offRampSession).toMatchObject({
      state: 'AWAITING_PAYOUT',
      payout: { amount: '49250.00', currency: 'KES' },
      payoutAccount: { type: 'MOBILE_MONEY', maskedAccountNumber: '••••3456' },
    });
    const { sessionId = '', offRampSession: session } = begun.data?.cashOut ?? {};
    const report = async (status: 'PROCESSING' | 'SETTLED') => {
      const answer = await marketplace.send<{ setManualSessionStatus: object }>(
        `mutation Report($id: String!, $status: RampSessionStatus!) {
          setManualSessionStatus(input: { sessionId: $id, status: $status }) {
            status payoutAccount { type accountNumber provider bankCode accountName }
          }
        }`,
        { id: sessionId, status },
        operator,
      );
      return answer.data?.setManualSessionStatus;
    };
    const payoutAccount = {
      type: 'MOBILE_MONEY',
      accountNumber: ACCOUNT_NUMBER,
      provider: 'Airtel',
      bankCode: null,
      accountName: null,
    };
    expect(await report('PROCESSING')).toEqual({ status: 'PROCESSING', payoutAccount });
    // The server asks for the status after the provider's hook: when late, it would find only the next one.
    await expect
      .poll(() => stateOf(session?.id ?? ''))
      .toMatchObject({ providerHistory: [{ status: 'PENDING' }, { status: 'PROCESSING' }] });
    expect(await report('SETTLED')).toEqual({ status: 'SETTLED', payoutAccount: null });
    await expect.poll(async () => (await stateOf(session?.id ?? ''))?.state).toBe('SETTLED');
    expect(await stateOf(session?.id ?? '')).toMatchObject({
      exposed: false,
      providerHistory: [{ status: 'PENDING' }, { status: 'PROCESSING' }, { status: 'SETTLED' }],
      transactions: [
        { kind: 'DEPOSIT_OFF_RAMP', state: 'LANDED', txHash: begun.data?.cashOut.txHash },
        { kind: 'CONFIRM_OFF_RAMP_SETTLEMENT', state: 'LANDED' },
      ],
      receipt: { tokenAddress },
    });
  });

  it('expires by the embedded network’s clock, in a run that operators can read', async () => {
    const tokenAddress = await deposited();
    await marketplace.send(
      'mutation { advanceNetworkClock(input: { seconds: 15552001 }) { ledgerClosedAt } }',
      {},
      operator,
    );
    const started = await marketplace.send<{ expireReceipts: { expiryRun: { id: string } } }>(
      'mutation { expireReceipts { expiryRun { id trigger } } }',
      {},
      operator,
    );
    expect(started.data?.expireReceipts.expiryRun).toMatchObject({ trigger: 'MANUAL' });
    const receipt = async () => {
      const answer = await marketplace.send<{ receipt: { state: string } }>(
        'query R($a: Address!) { receipt(tokenAddress: $a) { state } }',
        { a: tokenAddress },
        warehouse,
      );
      return answer.data?.receipt.state;
    };
    await expect.poll(receipt).toBe('EXPIRED');
    const runs = await marketplace.send<{ expiryRuns: { edges: { node: object }[] } }>(
      '{ expiryRuns(first: 1) { edges { node { examinedCount expiredCount failedCount endedAt failures { message } } } } }',
      {},
      operator,
    );
    expect(runs.data?.expiryRuns.edges[0]?.node).toMatchObject({ failedCount: 0, failures: [] });
    const late = cashOutInput(tokenAddress);
    const refused = await marketplace.send(CASH_OUT, { input: late }, farmer);
    expect(refused.errors[0]?.extensions.code).toBe('RECEIPT_EXPIRED');
  });
});

describe('who may do what', () => {
  const codeOf = async (query: string, variables: Record<string, unknown>, caller: TestCaller | null) =>
    (await marketplace.send(query, variables, caller)).errors[0]?.extensions.code;

  it('lets warehouses confirm their own deposits, farmers cash out their own receipts, and refuses all others', async () => {
    const input = await depositInput();
    expect(await codeOf(DEPOSIT, { input }, null)).toBe('UNAUTHENTICATED');
    expect(await codeOf(DEPOSIT, { input }, farmer)).toBe('FORBIDDEN');
    expect(await codeOf(DEPOSIT, { input: { ...input, warehouseId: 'MSA-1' } }, warehouse)).toBe('FORBIDDEN');

    const tokenAddress = await deposited();
    const cashOut = { input: cashOutInput(tokenAddress) };
    expect(await codeOf(CASH_OUT, cashOut, null)).toBe('UNAUTHENTICATED');
    expect(await codeOf(CASH_OUT, cashOut, warehouse)).toBe('FORBIDDEN');
    expect(await codeOf(CASH_OUT, cashOut, otherFarmer)).toBe('NOT_FOUND');
    const begun = await marketplace.send<CashedOut>(CASH_OUT, cashOut, farmer);
    const { offRampSession: session, sessionId } = begun.data?.cashOut ?? {
      offRampSession: { id: '' },
      sessionId: '',
    };

    const hidden = await marketplace.send(SESSION, { id: session.id }, otherFarmer);
    expect(hidden).toMatchObject({ data: { offRampSession: null }, errors: [] });
    expect(await codeOf(SESSION, { id: session.id }, warehouse)).toBe('FORBIDDEN');
    const setStatus = `mutation { setManualSessionStatus(input: { sessionId: "${sessionId}", status: FAILED }) { status } }`;
    for (const caller of [farmer, warehouse]) expect(await codeOf(setStatus, {}, caller)).toBe('FORBIDDEN');
    for (const query of [
      'mutation { expireReceipts { expiryRun { id } } }',
      `mutation { deployRampSettlement(input: { idempotencyKey: "k" }) { settlementDeployment { state } } }`,
      '{ expiryRuns(first: 1) { pageInfo { hasNextPage } } }',
      `mutation { resolveOffRampSessionReview(input: { offRampSessionId: "${session.id}", decision: ACCEPT, reviewVersion: "v", reason: "x" }) { offRampSession { id } } }`,
    ]) {
      expect(await codeOf(query, {}, farmer), query).toBe('FORBIDDEN');
    }
  });

  it('names the transaction that deployed the settlement contract', async () => {
    // The embedded network has one from the start.
    const none = async () => null;
    const bare = await startMarketplace({
      withIndexer: false,
      wrapNetwork: (network) => ({ ...network, settlementContract: none, findSettlement: none }),
    });
    const deploy = `mutation { deployRampSettlement(input: { idempotencyKey: "k" }) { settlementDeployment { state txHash } } }`;
    const { data } = await bare.send(deploy, {}, operator);
    const [landed] = await bare.database.handle.db.select().from(attempts);
    expect(data).toEqual({
      deployRampSettlement: { settlementDeployment: { state: 'DEPLOYED', txHash: landed?.hash } },
    });
    await bare.stop();
  });

  it('shows farmers and warehouses their own receipts, operators all, and others none', async () => {
    const tokenAddress = await deposited();
    const list = '{ commodityTypes receipts(first: 100) { edges { node { tokenAddress } } } }';
    const seenBy = async (caller: TestCaller) => {
      const answer = await marketplace.send<{
        receipts: { edges: { node: { tokenAddress: string } }[] };
        commodityTypes: string[];
      }>(list, {}, caller);
      expect(answer.data?.commodityTypes).toHaveLength(answer.data?.receipts.edges.length ? 1 : 0);
      return answer.data?.receipts.edges.map(({ node }) => node.tokenAddress) ?? [];
    };
    for (const caller of [farmer, warehouse, operator]) expect(await seenBy(caller)).toContain(tokenAddress);
    expect(await seenBy(otherFarmer)).toEqual([]);
    expect(await seenBy({ role: 'warehouse', subject: 'MSA-1' })).toEqual([]);
    // The farmer's or the warehouse's subject without the role.
    for (const { subject } of [farmer, warehouse])
      expect(await seenBy({ role: 'lender', subject })).toEqual([]);
    // Another farmer's token shows nothing, whatever is asked for.
    const one = 'query R($a: Address!) { receipt(tokenAddress: $a) { state } }';
    const hidden = await marketplace.send(one, { a: tokenAddress }, otherFarmer);
    expect(hidden).toMatchObject({ data: { receipt: null }, errors: [] });
  });

  it("hides a farmer's cash-out from the operator who asked for it and is only a farmer now", async () => {
    const input = cashOutInput(await deposited());
    const begun = await marketplace.send<CashedOut>(CASH_OUT, { input }, operator);
    const { id } = begun.data?.cashOut.offRampSession ?? { id: '' };
    const asFarmer: TestCaller = { ...operator, role: 'farmer' };
    expect([await stateOf(id), await stateOf(id, asFarmer)]).toMatchObject([{ exposed: false }, null]);
    const list = '{ offRampSessions(first: 100) { nodes { id } } }';
    const listed = async (caller: TestCaller) =>
      (await marketplace.send<{ offRampSessions: { nodes: unknown[] } }>(list, {}, caller)).data
        ?.offRampSessions.nodes;
    expect(await listed(farmer)).toContainEqual({ id });
    expect(await listed(asFarmer)).toEqual([]);
    const cancel = `mutation ($id: ID!) {
      cancelCashOut(input: { offRampSessionId: $id, idempotencyKey: "k" }) { offRampSession { id } } }`;
    expect(await codeOf(cancel, { id }, asFarmer)).toBe('NOT_FOUND');
  });

  it("lists the cash-outs of another farmer's receipt like those of one that does not exist", async () => {
    const list =
      'query S($a: Address!) { offRampSessions(first: 5, filter: { receiptTokenAddresses: [$a] }) { edges { cursor } } }';
    const tokenAddress = await deposited();
    const unknown = marketplace.app.dependencies.network.custodyAddress;
    const answers = await Promise.all(
      [tokenAddress, unknown].map((a) => marketplace.send(list, { a }, otherFarmer)),
    );
    for (const { data, errors } of answers) {
      expect(errors).toEqual([]);
      expect(data).toEqual({ offRampSessions: { edges: [] } });
    }
  });
});

describe('payout accounts', () => {
  const wrong: [string, Record<string, unknown>][] = [
    ['no provider', { type: 'MOBILE_MONEY', accountNumber: ACCOUNT_NUMBER }],
    ['no bank code', { type: 'BANK', accountNumber: ACCOUNT_NUMBER, accountName: 'Secret Name' }],
    ['no account name', { type: 'BANK', accountNumber: ACCOUNT_NUMBER, bankCode: '01' }],
    ['a number', { type: 'MOBILE_MONEY', accountNumber: Number(ACCOUNT_NUMBER), provider: 'MTN' }],
    [
      'letters that are none',
      { type: 'MOBILE_MONEY', accountNumber: `${ACCOUNT_NUMBER}\u202e`, provider: 'M' },
    ],
    ['signs', { type: 'MOBILE_MONEY', accountNumber: `${ACCOUNT_NUMBER}!`, provider: 'MTN' }],
    ['a list', { type: 'MOBILE_MONEY', accountNumber: [ACCOUNT_NUMBER], provider: 'MTN' }],
    ['an unknown field', { type: 'BANK', accountNumber: ACCOUNT_NUMBER, iban: ACCOUNT_NUMBER }],
    ['an unknown type', { type: 'CASH', accountNumber: ACCOUNT_NUMBER }],
  ];

  it.each(wrong)('are refused with %s, and not repeated', async (_what, payoutAccount) => {
    const input = cashOutInput(await deposited(), { payoutAccount });
    const answer = await marketplace.send(CASH_OUT, { input }, farmer);
    expect(answer.errors[0]?.extensions.code).toBe('BAD_USER_INPUT');
    expect(JSON.stringify(answer)).not.toContain(ACCOUNT_NUMBER);
    expect(JSON.stringify(answer)).not.toContain('Secret Name');
  });

  it('are in no log, whatever happened', () => {
    expect(logged.length).toBeGreaterThan(1000);
    expect(logged).not.toContain(ACCOUNT_NUMBER);
    expect(logged).not.toContain('Secret Name');
  });
});
