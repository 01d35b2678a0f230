/**
 * The warehouse story: two deposits become receipts, one is cashed out and paid, one payout fails and is
 * refunded, and half a year later what is left expires: the last only where the network's time can be moved.
 */
import { randomUUID } from 'node:crypto';
import type { ApiClient } from './client.ts';
import type { Narrator } from './narrator.ts';
import { pollUntil } from './pollUntil.ts';
import type { TokenFor } from './tokens.ts';

interface Deposit {
  createDeposit: { tokenAddress: string; txHash: string; receipt: { assetId: string; expiryDate: number } };
}
interface Quote {
  offRampQuote: { fiatAmount: string; feeFiat: string; feeBps: number; fiatCurrency: string };
}
interface CashOut {
  cashOut: { sessionId: string; txHash: string; session: { id: string } };
}
interface Session {
  cashOutSession: {
    state: string;
    resolutionTxHash: string | null;
    providerHistory: { status: string }[];
    networkHistory: { kind: string }[];
  };
}
interface Network {
  ledgerNetwork: { name: string; custodyAddress: string; clockCanBeMoved: boolean };
}
interface Expiry {
  expireReceipts: { id: string };
}
interface Run {
  node: { finishedAt: number | null; examined: number; expired: number; failed: number };
}

const WAREHOUSE = 'warehouse-1';
const FARMER = 'farmer-1';
const HALF_A_YEAR_SECONDS = 181 * 24 * 3600;

interface Stage {
  api: ApiClient;
  tell: Narrator;
  tokenFor: TokenFor;
}

export async function tellWarehouseStory(stage: Stage): Promise<void> {
  stage.tell.chapter('Warehouse receipts');
  const network = await readNetwork(stage.api);
  const tokenAddress = await deposit(stage, network.custodyAddress);
  await quote(stage);
  const paid = await cashOut(stage, tokenAddress, 400);
  await payoutEnds(stage, paid, 'SETTLED', 'the tokens go to the treasury');
  const failed = await cashOut(stage, tokenAddress, 250);
  await payoutEnds(stage, failed, 'FAILED', 'the tokens come back');
  if (network.clockCanBeMoved) await expire(stage, tokenAddress);
  else stage.tell.fact('expiry', `not told: ${network.name} keeps its own time, and half a year is long`);
}

async function readNetwork(api: ApiClient): Promise<Network['ledgerNetwork']> {
  const { ledgerNetwork } = await api.send<Network>(
    '{ ledgerNetwork { name custodyAddress clockCanBeMoved } }',
    {},
    null,
  );
  return ledgerNetwork;
}

/** Minted into custody: the platform's signer deposits what it holds for the farmer. */
async function deposit({ api, tell, tokenFor }: Stage, farmerAddress: string): Promise<string> {
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
  const { createDeposit } = await tell.step('A warehouse confirms a deposit of 1000 kg of maize', () =>
    api.send<Deposit>(
      `mutation ($input: CreateDepositInput!) {
        createDeposit(input: $input) { tokenAddress txHash receipt { assetId expiryDate } }
      }`,
      { input },
      token,
    ),
  );
  tell.fact('receipt', createDeposit.receipt.assetId);
  tell.fact('token', createDeposit.tokenAddress);
  tell.fact('deployed by', createDeposit.txHash);
  tell.fact('expires', new Date(createDeposit.receipt.expiryDate * 1000).toISOString());
  return createDeposit.tokenAddress;
}

async function quote({ api, tell, tokenFor }: Stage): Promise<void> {
  const token = await tokenFor('farmer', FARMER);
  const { offRampQuote } = await tell.step('The farmer asks what 400 kg would pay', () =>
    api.send<Quote>(
      '{ offRampQuote(tokenAmount: 400, fiatCurrency: "KES") { fiatAmount feeFiat feeBps fiatCurrency } }',
      {},
      token,
    ),
  );
  const { fiatAmount, fiatCurrency, feeFiat, feeBps } = offRampQuote;
  tell.fact('quote', `${fiatAmount} ${fiatCurrency} after a fee of ${feeFiat} (${feeBps / 100} %)`);
}

async function cashOut(stage: Stage, receiptTokenAddress: string, tokenAmount: number) {
  const { api, tell, tokenFor } = stage;
  const token = await tokenFor('farmer', FARMER);
  const input = {
    receiptTokenAddress,
    tokenAmount,
    fiatCurrency: 'KES',
    countryCode: 'KE',
    payoutAccount: { type: 'MOBILE_MONEY', accountNumber: '254700123456', provider: 'MTN' },
    idempotencyKey: randomUUID(),
  };
  const answer = await tell.step(
    `The farmer cashes out ${tokenAmount} kg (into the settlement contract)`,
    () =>
      api.send<CashOut>(
        'mutation ($input: CashOutInput!) { cashOut(input: $input) { sessionId txHash session { id } } }',
        { input },
        token,
      ),
  );
  tell.fact('session', answer.cashOut.sessionId);
  tell.fact('deposited by', answer.cashOut.txHash);
  return answer.cashOut;
}

async function payoutEnds(
  { api, tell, tokenFor }: Stage,
  opened: CashOut['cashOut'],
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
    return pollUntil(
      `session ${opened.sessionId} is ${goal}`,
      async () => {
        const { cashOutSession } = await api.send<Session>(
          `query ($id: ID!) { cashOutSession(id: $id) {
            state resolutionTxHash providerHistory { status } networkHistory { kind } } }`,
          { id: opened.session.id },
          operator,
        );
        return cashOutSession;
      },
      ({ state }) => state === goal,
    );
  });
  tell.fact('resolved by', session.resolutionTxHash ?? '');
  tell.fact('at provider', session.providerHistory.map((change) => change.status).join(' → '));
  tell.fact('on network', session.networkHistory.map((transaction) => transaction.kind).join(' → '));
}

async function expire({ api, tell, tokenFor }: Stage, tokenAddress: string): Promise<void> {
  const token = await tokenFor('operator');
  await tell.step("Half a year passes on the network's clock", () =>
    api.send(
      'mutation ($seconds: Int!) { advanceNetworkClock(seconds: $seconds) }',
      { seconds: HALF_A_YEAR_SECONDS },
      token,
    ),
  );
  tell.fact('from now on', "the network's own dates are half a year ahead");
  const run = await tell.step('The expiry job sweeps what is due', async () => {
    const { expireReceipts } = await api.send<Expiry>('mutation { expireReceipts { id } }', {}, token);
    return pollUntil(
      'the expiry run is finished',
      async () => {
        const { node } = await api.send<Run>(
          'query ($id: ID!) { node(id: $id) { ... on ExpiryRun { finishedAt examined expired failed } } }',
          { id: expireReceipts.id },
          token,
        );
        return node;
      },
      ({ finishedAt }) => finishedAt !== null,
    );
  });
  tell.fact('run', `${run.examined} examined, ${run.expired} expired, ${run.failed} failed`);
  const { receipt } = await api.send<{ receipt: { state: string; expiredTxHash: string } }>(
    'query ($t: String!) { receipt(tokenAddress: $t) { state expiredTxHash } }',
    { t: tokenAddress },
    token,
  );
  if (receipt.state !== 'EXPIRED') throw new Error(`the receipt is ${receipt.state}`);
  tell.fact('receipt', `${receipt.state}, marked by ${receipt.expiredTxHash}`);
}
