/**
 * Every field of Query, Mutation and Subscription, with an operation for it and the roles that may ask. The
 * tests of access and of abuse read this table; a missing field fails them.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { addressOfSecretKey, generateSecretKey } from '../../../src/lib/strkey.ts';
import type { Role } from '../../../src/identity/roles.ts';
import { expect, vi } from 'vitest';
import { projectInput } from './creditTrade.ts';
import type { Marketplace } from './marketplace.ts';

/** Objects of `acme`, who is buyer, farmer and warehouse under that name. */
export interface Belongings {
  tokenAddress: string;
  projectId: string;
  purchaseId: string;
  retirementId: string;
  receiptTokenAddress: string;
  receiptId: string;
  offRampSessionId: string;
  providerSessionId: string;
  /** The unsigned deposit of another receipt, which lies at a holder's own address. */
  holderActId: string;
}

export const OWNER = 'acme';
/** Address of a wallet's holder, who holds only the receipt of `holderActId`. */
const HOLDER = addressOfSecretKey(generateSecretKey(randomBytes));

export interface AccessRule {
  /** Roles beside admin; null for every caller, with or without a token. */
  who: readonly Role[] | null;
  query: string;
  variables?: (own: Belongings) => Record<string, unknown>;
}

const unknownId = (type: string) => Buffer.from(`${type}:${randomUUID()}`).toString('base64url');
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

export const QUERIES: Readonly<Record<string, AccessRule>> = {
  apiKeys: { who: [], query: '{ apiKeys(first: 1) { edges { node { id } } } }' },
  approvalRequests: { who: ['operator'], query: '{ approvalRequests(first: 1) { nodes { id } } }' },
  auditEntries: { who: ['operator'], query: '{ auditEntries(first: 1) { edges { node { id } } } }' },
  buyerAccount: {
    who: ['buyer', 'operator'],
    query: `{ buyerAccount(buyerId: "${OWNER}") { buyerId } }`,
  },
  offRampSession: {
    who: ['farmer', 'operator'],
    query: 'query ($id: ID!) { offRampSession(id: $id) { id } }',
    variables: ({ offRampSessionId }) => ({ id: offRampSessionId }),
  },
  offRampSessions: {
    who: ['farmer', 'operator'],
    query: '{ offRampSessions(first: 1) { edges { node { id } } } }',
  },
  expiryRuns: { who: ['operator'], query: '{ expiryRuns(first: 1) { edges { node { id } } } }' },
  indexerRegistration: { who: ['operator'], query: '{ indexerRegistration { url current } }' },
  invariants: { who: ['operator'], query: '{ invariants { verdict } }' },
  openWork: { who: ['operator'], query: '{ openWork { reviewSubmissionCount feedDelaySeconds } }' },
  issuanceCaps: { who: ['warehouse', 'operator'], query: '{ issuanceCaps(first: 1) { nodes { id } } }' },
  ledgerNetwork: { who: null, query: '{ ledgerNetwork { name } }' },
  commodityTypes: { who: ['farmer', 'warehouse', 'lender', 'operator'], query: '{ commodityTypes }' },
  consistencyProof: {
    who: null,
    query: '{ consistencyProof(log: "audit", fromTreeSize: 1) { treeSize hashes } }',
  },
  transparencyLogs: { who: null, query: '{ transparencyLogs { name treeSize checkpoint } }' },
  node: {
    who: null,
    query: 'query ($id: ID!) { node(id: $id) { id } }',
    variables: ({ retirementId }) => ({ id: retirementId }),
  },
  offRampQuote: {
    who: ['farmer', 'operator'],
    query: '{ offRampQuote(tokenAmount: 1, fiatCurrency: "KES") { payout { amount } } }',
  },
  project: {
    who: null,
    query: 'query ($token: Address!) { project(tokenAddress: $token) { id } }',
    variables: ({ tokenAddress: token }) => ({ token }),
  },
  creditTypes: { who: null, query: '{ creditTypes }' },
  projectTypes: { who: null, query: '{ projectTypes }' },
  projects: { who: null, query: '{ projects(first: 1) { edges { node { id } } } }' },
  receipt: {
    who: ['farmer', 'warehouse', 'lender', 'operator'],
    query: 'query ($token: Address!) { receipt(tokenAddress: $token) { id } }',
    variables: ({ receiptTokenAddress: token }) => ({ token }),
  },
  receipts: {
    who: ['farmer', 'warehouse', 'lender', 'operator'],
    query: '{ receipts(first: 1) { edges { node { id } } } }',
  },
  reconciliation: {
    who: ['operator'],
    query: 'query ($token: Address!) { reconciliation(tokenAddress: $token) { agrees } }',
    variables: ({ tokenAddress: token }) => ({ token }),
  },
  registry: {
    who: null,
    query: 'query ($token: Address!) { registry(tokenAddress: $token) { totalRetired } }',
    variables: ({ tokenAddress: token }) => ({ token }),
  },
  retirement: {
    who: ['buyer', 'operator'],
    query: 'query ($id: ID!) { retirement(id: $id) { id } }',
    variables: ({ retirementId: id }) => ({ id }),
  },
  retirementRecords: { who: null, query: '{ retirementRecords(first: 1) { nodes { index } } }' },
  retirementTotals: { who: null, query: '{ retirementTotals(groupBy: DAY, first: 1) { nodes { tonnes } } }' },
  retirementRecord: {
    who: null,
    query: 'query ($token: Address!) { retirementRecord(tokenAddress: $token, index: 0) { id } }',
    variables: ({ tokenAddress: token }) => ({ token }),
  },
  retirementFeedCursor: { who: null, query: '{ retirementFeedCursor }' },
  retirementRecordsByTransaction: {
    who: null,
    query: `{ retirementRecordsByTransaction(txHash: "${'0'.repeat(64)}") { index } }`,
  },
  publicReceipt: {
    who: null,
    query: 'query ($token: Address!) { publicReceipt(tokenAddress: $token) { pledged } }',
    variables: ({ receiptTokenAddress: token }) => ({ token }),
  },
  retirementRecordBySerial: {
    who: null,
    query: '{ retirementRecordBySerial(serial: "VCS-1-2024-000001") { index } }',
  },
  retirements: {
    who: ['buyer', 'operator'],
    query: '{ retirements(first: 1) { edges { node { id } } } }',
  },
  submission: {
    who: ['operator'],
    query: 'query ($id: ID!) { submission(id: $id) { id } }',
    variables: () => ({ id: unknownId('Submission') }),
  },
  submissions: { who: ['operator'], query: '{ submissions(first: 1) { edges { node { id } } } }' },
  tokenRevocations: { who: [], query: '{ tokenRevocations(first: 1) { edges { node { id } } } }' },
  viewer: { who: null, query: '{ viewer { subject } }' },
};

const mutation = (name: string, type: string) =>
  `mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`;

export const MUTATIONS: Readonly<Record<string, AccessRule>> = {
  advanceNetworkClock: {
    who: ['operator'],
    query: mutation('advanceNetworkClock', 'AdvanceNetworkClockInput'),
    variables: () => ({ input: { seconds: 1 } }),
  },
  cancelCashOut: {
    who: ['farmer', 'operator'],
    query: mutation('cancelCashOut', 'CancelCashOutInput'),
    variables: ({ offRampSessionId }) => ({
      input: { offRampSessionId, idempotencyKey: randomUUID() },
    }),
  },
  cashOut: {
    who: ['farmer', 'operator'],
    query: mutation('cashOut', 'CashOutInput'),
    variables: ({ receiptTokenAddress }) => ({ input: cashOutOf(receiptTokenAddress) }),
  },
  createApiKey: {
    who: [],
    query: mutation('createApiKey', 'CreateApiKeyInput'),
    variables: () => ({
      input: {
        name: 'a client',
        subject: 'client',
        roles: ['BUYER'],
        expiresAt: inAnHour(),
        idempotencyKey: randomUUID(),
      },
    }),
  },
  createDeposit: {
    who: ['warehouse', 'operator'],
    query: mutation('createDeposit', 'CreateDepositInput'),
    variables: () => ({ input: depositFor(HOLDER) }),
  },
  createProject: {
    who: ['developer', 'operator'],
    query: mutation('createProject', 'CreateProjectInput'),
    variables: () => ({ input: newProject() }),
  },
  deployRampSettlement: {
    who: ['operator'],
    query: mutation('deployRampSettlement', 'DeployRampSettlementInput'),
    variables: () => ({ input: { idempotencyKey: 'one for all tries' } }),
  },
  expireReceipts: { who: ['operator'], query: 'mutation { expireReceipts { __typename } }' },
  grantApproval: {
    who: ['operator'],
    query: mutation('grantApproval', 'GrantApprovalInput'),
    variables: () => ({ input: { approvalRequestId: unknownId('ApprovalRequest') } }),
  },
  pledgeReceipt: {
    who: ['farmer', 'operator'],
    query: mutation('pledgeReceipt', 'PledgeReceiptInput'),
    // This receipt is being cashed out: callers with the role get an error, and the receipt stays free for
    // the other cases.
    variables: ({ receiptTokenAddress }) => ({
      input: {
        receiptTokenAddress,
        lenderName: 'A bank',
        loanReference: 'loan',
        idempotencyKey: randomUUID(),
      },
    }),
  },
  prepareCashOutDeposit: {
    who: ['farmer', 'operator'],
    query: mutation('prepareCashOutDeposit', 'PrepareCashOutDepositInput'),
    variables: ({ receiptTokenAddress }) => ({
      input: { ...cashOutOf(receiptTokenAddress), holderAddress: HOLDER },
    }),
  },
  prepareRetirement: {
    who: ['buyer', 'operator'],
    query: mutation('prepareRetirement', 'PrepareRetirementInput'),
    variables: ({ tokenAddress }) => ({
      input: {
        tokenAddress,
        amountCO2e: 1,
        holderAddress: HOLDER,
        beneficiary: 'Acme Ltd',
        idempotencyKey: randomUUID(),
      },
    }),
  },
  purchase: {
    who: ['buyer', 'operator'],
    query: mutation('purchase', 'PurchaseInput'),
    variables: ({ tokenAddress }) => ({
      input: { buyerId: OWNER, tokenAddress, amountCO2e: 1, idempotencyKey: randomUUID() },
    }),
  },
  refuseApproval: {
    who: ['developer', 'warehouse', 'operator'],
    query: mutation('refuseApproval', 'RefuseApprovalInput'),
    variables: () => ({ input: { approvalRequestId: unknownId('ApprovalRequest'), reason: 'a test' } }),
  },
  releasePledge: {
    who: ['lender', 'operator'],
    query: mutation('releasePledge', 'ReleasePledgeInput'),
    variables: ({ receiptTokenAddress }) => ({
      input: { receiptTokenAddress, loanReference: 'loan', idempotencyKey: randomUUID() },
    }),
  },
  resolveSubmissionReview: {
    who: ['operator'],
    query: mutation('resolveSubmissionReview', 'ResolveSubmissionReviewInput'),
    variables: () => ({
      input: { submissionId: unknownId('Submission'), decision: 'RESUME', reviewVersion: 'v', reason: 'try' },
    }),
  },
  resumeSigning: {
    who: ['operator'],
    query: mutation('resumeSigning', 'ResumeSigningInput'),
    variables: () => ({ input: { signingHaltVersion: 'v', reason: 'try' } }),
  },
  resolveOffRampSessionReview: {
    who: ['operator'],
    query: mutation('resolveOffRampSessionReview', 'ResolveOffRampSessionReviewInput'),
    variables: ({ offRampSessionId }) => ({
      input: { offRampSessionId, decision: 'RETRY', reviewVersion: 'v', reason: 'try' },
    }),
  },
  retire: {
    who: ['buyer', 'operator'],
    query: mutation('retire', 'RetireInput'),
    variables: ({ tokenAddress }) => ({ input: retirementOf(tokenAddress, 1_000_000) }),
  },
  removeIssuanceCap: {
    who: ['operator'],
    query: mutation('removeIssuanceCap', 'RemoveIssuanceCapInput'),
    variables: () => ({ input: { issuanceCapId: unknownId('IssuanceCap') } }),
  },
  revokeApiKey: {
    who: [],
    query: mutation('revokeApiKey', 'RevokeApiKeyInput'),
    variables: () => ({ input: { apiKeyId: unknownId('ApiKey') } }),
  },
  revokeTokens: {
    who: [],
    query: mutation('revokeTokens', 'RevokeTokensInput'),
    variables: () => ({ input: { jti: randomUUID() } }),
  },
  setIssuanceCap: {
    who: ['operator'],
    query: mutation('setIssuanceCap', 'SetIssuanceCapInput'),
    variables: () => ({ input: { warehouseId: 'w-1', commodityType: 'Maize', limitKg: 1000 } }),
  },
  setManualSessionStatus: {
    who: ['operator'],
    query: mutation('setManualSessionStatus', 'SetManualSessionStatusInput'),
    variables: ({ providerSessionId: sessionId }) => ({ input: { sessionId, status: 'PROCESSING' } }),
  },
  setProjectPrice: {
    who: ['developer', 'operator'],
    query: mutation('setProjectPrice', 'SetProjectPriceInput'),
    variables: () => ({
      input: {
        projectId: unknownId('Project'),
        pricePerTonne: { amount: '12.5', currency: 'EUR' },
        idempotencyKey: randomUUID(),
      },
    }),
  },
  submitSigned: {
    who: ['buyer', 'farmer', 'operator'],
    query: mutation('submitSigned', 'SubmitSignedInput'),
    variables: () => ({ input: { holderActId: unknownId('HolderAct'), signed: 'AAAA' } }),
  },
  transferCredits: {
    who: ['buyer', 'operator'],
    query: mutation('transferCredits', 'TransferCreditsInput'),
    variables: ({ tokenAddress }) => ({
      input: {
        fromBuyerId: OWNER,
        toBuyerId: 'globex',
        tokenAddress,
        amountCO2e: 1,
        idempotencyKey: randomUUID(),
      },
    }),
  },
  watchRetirements: { who: ['operator'], query: 'mutation { watchRetirements { webhookId } }' },
};

export const SUBSCRIPTIONS: Readonly<Record<string, AccessRule>> = {
  retirementFeed: { who: null, query: 'subscription { retirementFeed(after: "0") { cursor } }' },
  retirementUpdated: {
    who: ['buyer', 'operator'],
    query: 'subscription ($id: ID!) { retirementUpdated(id: $id) { id } }',
    variables: ({ retirementId }) => ({ id: retirementId }),
  },
  projectUpdated: {
    who: null,
    query: 'subscription ($id: ID!) { projectUpdated(id: $id) { id } }',
    variables: ({ projectId }) => ({ id: projectId }),
  },
  receiptUpdated: {
    who: ['farmer', 'warehouse', 'lender', 'operator'],
    query: 'subscription ($id: ID!) { receiptUpdated(id: $id) { id } }',
    variables: ({ receiptId }) => ({ id: receiptId }),
  },
  offRampSessionUpdated: {
    who: ['farmer', 'operator'],
    query: 'subscription ($id: ID!) { offRampSessionUpdated(id: $id) { id } }',
    variables: ({ offRampSessionId }) => ({ id: offRampSessionId }),
  },
};

const newProject = () => projectInput({ idempotencyKey: randomUUID() });

function retirementOf(tokenAddress: string, amountCO2e: number) {
  const about = { buyerId: OWNER, buyerName: 'Acme Ltd', note: '' };
  return { ...about, tokenAddress, amountCO2e, idempotencyKey: randomUUID() };
}

function depositFor(farmerAddress: string) {
  return {
    farmerAddress,
    farmerId: OWNER,
    commodityType: 'Maize',
    quantityKg: 1000,
    warehouseId: OWNER,
    gradeClassification: 'Grade 1',
    valuationUSD: 400,
    idempotencyKey: randomUUID(),
  };
}

function cashOutOf(receiptTokenAddress: string) {
  return {
    receiptTokenAddress,
    tokenAmount: 1,
    fiatCurrency: 'KES',
    countryCode: 'KE',
    payoutAccount: { type: 'MOBILE_MONEY', accountNumber: '254700123456', provider: 'MTN' },
    idempotencyKey: randomUUID(),
  };
}

/** Only a hang takes this long. */
const PATIENCE = { timeout: 30_000, interval: 50 };

/** Creates a project, a purchase, a retirement, a receipt and a cash-out through the API. */
export async function makeBelongings(market: Marketplace): Promise<Belongings> {
  const ask = async <T>(query: string, variables: Record<string, unknown>): Promise<T> => {
    const answer = await market.send<T>(query, variables, { role: 'admin', subject: 'root' });
    expect(answer.errors).toEqual([]);
    return answer.data as T;
  };
  /**
   * Repeats the request with the same key until it is done, because a busy machine may take longer than the
   * server waits.
   */
  const askUntil = async <T>(query: string, input: object, isDone: (data: T) => boolean): Promise<T> => {
    const once = async () => {
      const data = await ask<T>(query, { input });
      return isDone(data) && { data };
    };
    return (await vi.waitUntil(once, PATIENCE)).data;
  };
  const deposit = (farmerAddress: string) =>
    askUntil<{ createDeposit: { receipt: { id: string; state: string; tokenAddress: string } } }>(
      'mutation ($input: CreateDepositInput!) { createDeposit(input: $input) { receipt { id state tokenAddress } } }',
      depositFor(farmerAddress),
      ({ createDeposit }) => createDeposit.receipt.state === 'ACTIVE',
    );
  const { createProject } = await askUntil<{
    createProject: { tokenAddress: string; project: { id: string; state: string } };
  }>(
    'mutation ($input: CreateProjectInput!) { createProject(input: $input) { tokenAddress project { id state } } }',
    newProject(),
    (data) => data.createProject.project.state === 'OPEN',
  );
  const { tokenAddress, project } = createProject;
  const bought = await ask<{ purchase: { purchase: { id: string } } }>(
    'mutation ($input: PurchaseInput!) { purchase(input: $input) { purchase { id } } }',
    { input: { buyerId: OWNER, tokenAddress, amountCO2e: 100, idempotencyKey: randomUUID() } },
  );
  const retired = await ask<{ retire: { retirement: { id: string } } }>(
    'mutation ($input: RetireInput!) { retire(input: $input) { retirement { id } } }',
    { input: retirementOf(tokenAddress, 10) },
  );
  const { receipt } = (await deposit(market.network.custodyAddress)).createDeposit;
  const cashed = await askUntil<{ cashOut: { sessionId: string | null; offRampSession: { id: string } } }>(
    'mutation ($input: CashOutInput!) { cashOut(input: $input) { sessionId offRampSession { id } } }',
    cashOutOf(receipt.tokenAddress),
    ({ cashOut }) => cashOut.sessionId !== null,
  );
  const own = await deposit(HOLDER);
  const toSign = await ask<{ prepareCashOutDeposit: { holderAct: { id: string } } }>(
    'mutation ($input: PrepareCashOutDepositInput!) { prepareCashOutDeposit(input: $input) { holderAct { id } } }',
    { input: { ...cashOutOf(own.createDeposit.receipt.tokenAddress), holderAddress: HOLDER } },
  );
  return {
    holderActId: toSign.prepareCashOutDeposit.holderAct.id,
    tokenAddress,
    projectId: project.id,
    purchaseId: bought.purchase.purchase.id,
    retirementId: retired.retire.retirement.id,
    receiptTokenAddress: receipt.tokenAddress,
    receiptId: receipt.id,
    offRampSessionId: cashed.cashOut.offRampSession.id,
    providerSessionId: cashed.cashOut.sessionId ?? '',
  };
}
