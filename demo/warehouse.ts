/**
 * The warehouse demo: a deposit becomes a receipt. One part is cashed out and paid, and the payout of another
 * part fails and is refunded. With `--expiry`, the rest expires half a year later.
 */
import { randomUUID } from 'node:crypto';
import { awaitState, landedHash, OUTCOME_TIMEOUT_MS, type NetworkTransaction } from './awaitState.ts';
import type { ApiClient } from './client.ts';
import type { Narrator } from './narrator.ts';
import { pollUntil } from './pollUntil.ts';
import type { TokenFor } from './tokens.ts';

interface Receipt {
  assetId: string;
  expiryDate: number;
  tokenAddress: string;
  transactions: NetworkTransaction[];
}
interface Money {
  amount: string;
  currency: string;
}
interface Quote {
  offRampQuote: { payout: Money; fee: Money; feeBps: number | null };
}
interface OpenSession {
  id: string;
  sessionId: string;
  depositTxHash: string;
}
interface Resolution {
  resolutionTxHash: string;
  providerHistory: { status: string }[];
  transactions: { kind: string }[];
}
interface Network {
  ledgerNetwork: { name: string; custodyAddress: string; clockCanBeMoved: boolean };
}
interface Expiry {
  expireReceipts: { expiryRun: { id: string } };
}
interface Run {
  node: { endedAt: number | null; examinedCount: number; expiredCount: number; failedCount: number };
}

const WAREHOUSE = 'warehouse-1';
const FARMER = 'farmer-1';
const HALF_A_YEAR_SECONDS = 181 * 24 * 3600;

interface Demo {
  api: ApiClient;
  tell: Narrator;
  tokenFor: TokenFor;
  /** Moves the network's clock ahead. It never goes back, so later retirements carry the later date. */
  withExpiry: boolean;
}

export async function runWarehouseDemo(demo: Demo): Promise<void> {
  demo.tell.chapter('Warehouse receipts');
  const network = await readNetwork(demo.api);
  const tokenAddress = await deposit(demo, network.custodyAddress);
  await quote(demo);
  const paid = await cashOut(demo, tokenAddress, 400);
  await payoutEnds(demo, paid, 'SETTLED', 'the tokens go to the treasury');
  const failed = await cashOut(demo, tokenAddress, 250);
  await payoutEnds(demo, failed, 'FAILED', 'the tokens come back');
  if (!demo.withExpiry) demo.tell.fact('expiry', 'after half a year; npm run demo -- --expiry shows it');
  else if (network.clockCanBeMoved) await expire(demo, tokenAddress);
  else demo.tell.fact('expiry', `not shown: ${network.name} keeps its own time, and half a year is long`);
}

async function readNetwork(api: ApiClient): Promise<Network['ledgerNetwork']> {
  const { ledgerNetwork } = await api.send<Network>(
    '{ ledgerNetwork { name custodyAddress clockCanBeMoved } }',
    {},
    null,
  );
  return ledgerNetwork;
}

/** Mints the receipt to custody, so that the platform's signer can deposit for the farmer. */
async function deposit({ api, tell, tokenFor }: Demo, farmerAddress: string): Promise<string> {
  const token = await tokenFor('warehouse', WAREHOUSE);
  const input = {
    farmerAddress,
    farmerId: FARMER,
    commodityType: 'Maize',
    quantityKg: 1000,
    warehouseId: WAREHOUSE,
    gradeClassification: 'Grade 1',
    valuationUSD: 400,
    idempotencyKey: randomUUID(),
  };
  const receipt = await tell.step('A warehouse confirms a deposit of 1000 kg of maize', async () => {
    const { createDeposit } = await api.send<{ createDeposit: { receipt: { id: string } } }>(
      'mutation ($input: CreateDepositInput!) { createDeposit(input: $input) { receipt { id } } }',
      { input },
      token,
    );
    const subject = { type: 'Receipt', id: createDeposit.receipt.id } as const;
    const fields = 'assetId expiryDate tokenAddress transactions { kind state txHash }';
    return awaitState<Receipt>(api, subject, 'ACTIVE', fields, token);
  });
  tell.fact('receipt', receipt.assetId);
  tell.fact('token', receipt.tokenAddress);
  tell.fact('deployed by', landedHash(receipt.transactions, 'DEPLOY_COMMODITY_RECEIPT'));
  tell.fact('expires', new Date(receipt.expiryDate * 1000).toISOString());
  return receipt.tokenAddress;
}

async function quote({ api, tell, tokenFor }: Demo): Promise<void> {
  const token = await tokenFor('farmer', FARMER);
  const { offRampQuote } = await tell.step('The farmer asks what 400 kg would pay', () =>
    api.send<Quote>(
      '{ offRampQuote(tokenAmount: 400, fiatCurrency: "KES") { payout { amount currency } fee { amount } feeBps } }',
      {},
      token,
    ),
  );
  const { payout, fee, feeBps } = offRampQuote;
  const rate = feeBps === null ? '' : ` (${feeBps / 100} %)`;
  tell.fact('quote', `${payout.amount} ${payout.currency} after a fee of ${fee.amount}${rate}`);
}

async function cashOut(demo: Demo, receiptTokenAddress: string, tokenAmount: number): Promise<OpenSession> {
  const { api, tell, tokenFor } = demo;
  const token = await tokenFor('farmer', FARMER);
  const input = {
    receiptTokenAddress,
    tokenAmount,
    fiatCurrency: 'KES',
    countryCode: 'KE',
    payoutAccount: { type: 'MOBILE_MONEY', accountNumber: '254700123456', provider: 'MTN' },
    idempotencyKey: randomUUID(),
  };
  const session = await tell.step(
    `The farmer cashes out ${tokenAmount} kg (into the settlement contract)`,
    async () => {
      const { cashOut } = await api.send<{ cashOut: { offRampSession: { id: string } } }>(
        'mutation ($input: CashOutInput!) { cashOut(input: $input) { offRampSession { id } } }',
        { input },
        token,
      );
      const subject = { type: 'OffRampSession', id: cashOut.offRampSession.id } as const;
      // A payout that is reported before the deposit is final goes to review.
      return awaitState<OpenSession>(api, subject, 'AWAITING_PAYOUT', 'id sessionId depositTxHash', token);
    },
  );
  tell.fact('session', session.sessionId);
  tell.fact('deposited by', session.depositTxHash);
  return session;
}

async function payoutEnds(
  { api, tell, tokenFor }: Demo,
  opened: OpenSession,
  status: 'SETTLED' | 'FAILED',
  consequence: string,
): Promise<void> {
  const operator = await tokenFor('operator');
  const goal = status === 'SETTLED' ? 'SETTLED' : 'REFUNDED';
  const session = await tell.step(`The payout ends as ${status}: ${consequence}`, async () => {
    await api.send(
      `mutation ($input: SetManualSessionStatusInput!) { setManualSessionStatus(input: $input) { __typename } }`,
      { input: { sessionId: opened.sessionId, status } },
      operator,
    );
    const subject = { type: 'OffRampSession', id: opened.id } as const;
    const fields = 'resolutionTxHash providerHistory { status } transactions { kind }';
    return awaitState<Resolution>(api, subject, goal, fields, operator);
  });
  tell.fact('resolved by', session.resolutionTxHash);
  tell.fact('at provider', session.providerHistory.map((change) => change.status).join(' → '));
  tell.fact('on network', session.transactions.map((transaction) => transaction.kind).join(' → '));
}

async function expire({ api, tell, tokenFor }: Demo, tokenAddress: string): Promise<void> {
  const token = await tokenFor('operator');
  await tell.step("Half a year passes on the network's clock", () =>
    api.send(
      'mutation ($seconds: Int!) { advanceNetworkClock(input: { seconds: $seconds }) { ledgerClosedAt } }',
      { seconds: HALF_A_YEAR_SECONDS },
      token,
    ),
  );
  tell.fact('from now on', "the network's own dates are half a year ahead");
  const run = await tell.step('The expiry job sweeps what is due', async () => {
    const { expireReceipts } = await api.send<Expiry>(
      'mutation { expireReceipts { expiryRun { id } } }',
      {},
      token,
    );
    return pollUntil(
      'the expiry run is finished',
      async () => {
        const { node } = await api.send<Run>(
          'query ($id: ID!) { node(id: $id) { ... on ExpiryRun { endedAt examinedCount expiredCount failedCount } } }',
          { id: expireReceipts.expiryRun.id },
          token,
        );
        return node;
      },
      ({ endedAt }) => endedAt !== null,
      OUTCOME_TIMEOUT_MS,
    );
  });
  tell.fact('run', `${run.examinedCount} examined, ${run.expiredCount} expired, ${run.failedCount} failed`);
  const { receipt } = await api.send<{ receipt: { state: string; expiredTxHash: string } }>(
    'query ($t: Address!) { receipt(tokenAddress: $t) { state expiredTxHash } }',
    { t: tokenAddress },
    token,
  );
  if (receipt.state !== 'EXPIRED') throw new Error(`the receipt is ${receipt.state}`);
  tell.fact('receipt', `${receipt.state}, marked by ${receipt.expiredTxHash}`);
}
