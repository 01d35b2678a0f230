/**
 * The mutations that clients send.
 */
import { readFile } from 'node:fs/promises';
import { buildSchema } from 'graphql';
import type { UnsignedTransaction } from '../src/ledger/network/port.ts';
import type { Caller } from './api.ts';
import type { LabNetwork } from './lab.ts';
import { BUYERS, CAPPED, CAPPED_WAREHOUSE, HIGHEST_CAP_KG, HOLDERS_ACCOUNT_NUMBER } from './known.ts';
import { beneficiaryOf, cashableOf, factsOf, openOf, person, projectsOf } from './known.ts';
import type { Fact, Input, Known } from './known.ts';

export interface Asked {
  /** None for a mutation without input. */
  input?: Input;
  caller: Caller;
  /** The register that a success sets. */
  writes?: readonly [register: string, value: string | null];
  /** A success is wrong unless the register had this value meanwhile. */
  requires?: readonly [register: string, value: string | null];
}

/** Null when there is nothing to ask for yet. */
type Ask = (known: Known) => Asked | null | Promise<Asked | null>;

/** The mutations that no client sends, and why not. */
const NOT_SENT: Readonly<Record<string, string>> = {
  deployRampSettlement: 'each network of the laboratory has a settlement contract from the start',
  prepareRetirement: 'no mutation moves credits to the address of a holder, who would sign',
  resolveOffRampSessionReview: 'only an operator can decide a review: the laboratory counts them',
  resolveSubmissionReview: 'only an operator can decide a review: the laboratory counts them',
  resumeSigning: 'nothing in the laboratory halts signing for longer than a check takes',
  setManualSessionStatus: 'the provider of the laboratory sets the status of its payouts itself',
};

/** Few objects, so that most requests concern existing ones. */
const MAX_PROJECTS = 5;
const MAX_RECEIPTS = 6;
const MAX_AWAITING = 3;
/** The newest objects, among which those that are not final are. */
const RECENT = 3;
/** One more kilogram than a deposit without approval may have. */
const LARGE_KG = 100_001;
const DAY_SECONDS = 24 * 3600;
/** Longer than a receipt is valid. */
const HALF_A_YEAR_SECONDS = 181 * DAY_SECONDS;
const PAYOUT_ACCOUNT = { type: 'MOBILE_MONEY', accountNumber: '254700123456', provider: 'MTN' };
const LEAVERS = 4;

const isAwaiting = ({ state }: Fact) => state === 'AWAITING';
const isUnreleased = ({ releasedAt }: Fact) => releasedAt === null;

/** @returns null when there is none */
function oneOf<T>({ random }: Known, items: readonly T[]): T | null {
  return items.length === 0 ? null : random.pick(items);
}

/** A deposit for custody or a holder, under a cap, or to be approved. */
function depositOf(known: Known): Input | null {
  const { random, custodyAddress, lab, unique } = known;
  const kind = random.below(4);
  if (kind === 0) {
    const quantityKg = 1 + random.below(HIGHEST_CAP_KG);
    return { warehouseId: CAPPED_WAREHOUSE.subject, commodityType: random.pick(CAPPED), quantityKg };
  }
  if (kind === 1) {
    // The season names the request: the deposits of one approval are counted by it.
    const isEnough = openOf(known, 'ApprovalRequest', isAwaiting).length >= MAX_AWAITING;
    return isEnough ? null : { quantityKg: LARGE_KG, harvestSeason: `season ${unique()}` };
  }
  const farmerAddress = kind === 2 ? custodyAddress : lab.holder.address;
  return cashableOf(known, farmerAddress).length >= MAX_RECEIPTS ? null : { farmerAddress };
}

function cashOutOf(known: Known, farmerAddress: string, own: Input): Asked | null {
  const receipts = cashableOf(known, farmerAddress);
  const pledges = openOf(known, 'ReceiptPledge', isUnreleased);
  const isPledged = ({ tokenAddress }: Fact) =>
    pledges.some(({ input }) => input['receiptTokenAddress'] === tokenAddress);
  // Pledges are few, so that chance alone would seldom meet one.
  const receipt = oneOf(known, known.random.below(6) === 0 ? receipts.filter(isPledged) : receipts);
  if (receipt === null) return null;
  const input = {
    receiptTokenAddress: receipt.tokenAddress,
    tokenAmount: 10 + known.random.below(50),
    fiatCurrency: 'KES',
    countryCode: 'KE',
    payoutAccount: PAYOUT_ACCOUNT,
    idempotencyKey: known.unique(),
    ...own,
  };
  return { input, caller: person('farmer'), requires: [`pledge ${receipt.tokenAddress}`, null] };
}

/** Each mutation's share of the load, and what is read of its answer. */
export const MUTATIONS: Readonly<Record<string, readonly [share: number, answers: string]>> = {
  retire: [28, 'retirement'],
  cashOut: [18, 'offRampSession'],
  purchase: [16, 'purchase'],
  submitSigned: [8, 'holderAct'],
  createDeposit: [7, 'receipt approvalRequest'],
  prepareCashOutDeposit: [5, 'offRampSession holderAct'],
  createProject: [4, 'project'],
  transferCredits: [4, 'creditTransfer'],
  pledgeReceipt: [3, 'receiptPledge'],
  cancelCashOut: [3, 'offRampSession'],
  setProjectPrice: [2, 'project'],
  setIssuanceCap: [2, 'issuanceCap'],
  grantApproval: [2, 'approvalRequest'],
  createApiKey: [2, 'apiKey key'],
  releasePledge: [1, 'receiptPledge'],
  removeIssuanceCap: [1, 'issuanceCap'],
  refuseApproval: [1, 'approvalRequest'],
  revokeApiKey: [1, 'apiKey'],
  revokeTokens: [1, 'tokenRevocation'],
  expireReceipts: [1, 'expiryRun'],
  advanceNetworkClock: [1, '__typename'],
  watchRetirements: [1, 'webhookId'],
};

/** All, except that a node keeps its own time. */
export const sentOn = (network: LabNetwork) =>
  Object.keys(MUTATIONS).filter((name) => name !== 'advanceNetworkClock' || network === 'embedded');

export const ASKS: Readonly<Record<string, Ask>> = {
  createProject(known) {
    if (projectsOf(known).length >= MAX_PROJECTS) return null;
    const input = {
      creditType: 'VCU',
      verificationBodyRef: `LAB-${known.unique()}`,
      vintageYear: 2024,
      quantityCO2e: '100000',
      projectLocation: 'Kasigau Corridor, Kenya',
      projectType: 'REDD+',
      countryCode: 'KE',
      idempotencyKey: known.unique(),
    };
    return { input, caller: person('developer') };
  },
  purchase(known) {
    const tokenAddress = oneOf(known, projectsOf(known))?.tokenAddress;
    const caller = { role: 'buyer', subject: known.random.pick(BUYERS) } as const;
    const amountCO2e = String(5 + known.random.below(20));
    const input = { tokenAddress, amountCO2e, idempotencyKey: known.unique() };
    return tokenAddress == null ? null : { input, caller };
  },
  transferCredits(known) {
    const tokenAddress = oneOf(known, projectsOf(known))?.tokenAddress;
    const [from, toBuyerId] = BUYERS;
    const input = { tokenAddress, amountCO2e: '1', toBuyerId, idempotencyKey: known.unique() };
    return tokenAddress == null ? null : { input, caller: { role: 'buyer', subject: from } };
  },
  retire(known) {
    // Another buyer's retirement would only be refused.
    const purchase = oneOf(known, factsOf(known, 'Purchase'));
    if (purchase === null) return null;
    const input = {
      tokenAddress: purchase.input['tokenAddress'],
      amountCO2e: '1',
      buyerName: beneficiaryOf(purchase.caller.subject),
      // Names the intent on the network: the burns of one are counted by it.
      note: `burn ${known.unique()}`,
      idempotencyKey: known.unique(),
    };
    return { input, caller: purchase.caller };
  },
  setProjectPrice(known) {
    const id = oneOf(known, projectsOf(known))?.id;
    if (id === undefined) return null;
    const amount = `${1 + known.random.below(1_000_000)}`;
    const pricePerTonne = { amount, currency: 'USD' };
    const input = { projectId: id, pricePerTonne, idempotencyKey: known.unique() };
    return { input, caller: person('developer'), writes: [`price ${id}`, amount] };
  },
  createDeposit(known) {
    const own = depositOf(known);
    const input = {
      farmerAddress: known.custodyAddress,
      farmerId: 'farmer-1',
      commodityType: 'Maize',
      quantityKg: 100_000,
      warehouseId: 'warehouse-1',
      gradeClassification: 'Grade 1',
      valuationUSD: 400,
      idempotencyKey: known.unique(),
      ...own,
    };
    return own && { input, caller: { role: 'warehouse', subject: input.warehouseId } };
  },
  cashOut: (known) => cashOutOf(known, known.custodyAddress, {}),
  prepareCashOutDeposit(known) {
    const holderAddress = known.lab.holder.address;
    // The same request again prepares what follows an allowance, or a new act in place of an expired one.
    const earlier = factsOf(known, 'OffRampSession').filter(({ input }) => 'holderAddress' in input);
    const again = known.random.below(2) === 0 ? oneOf(known, earlier.slice(-RECENT)) : null;
    if (again !== null) return { input: again.input, caller: again.caller };
    const payoutAccount = { ...PAYOUT_ACCOUNT, accountNumber: HOLDERS_ACCOUNT_NUMBER };
    return cashOutOf(known, holderAddress, { holderAddress, payoutAccount });
  },
  async submitSigned(known) {
    const act = oneOf(known, factsOf(known, 'HolderAct').slice(-RECENT));
    if (!act?.unsigned) return null;
    const signed = await known.lab.holder.sign(act.unsigned as UnsignedTransaction);
    return { input: { holderActId: act.id, signed }, caller: act.caller };
  },
  cancelCashOut(known) {
    const session = oneOf(known, factsOf(known, 'OffRampSession').slice(-RECENT));
    const caller = person(known.random.pick(['farmer', 'operator'] as const));
    const idempotencyKey = known.unique();
    return session && { input: { offRampSessionId: session.id, idempotencyKey }, caller };
  },
  pledgeReceipt(known) {
    const owner = known.random.pick([known.custodyAddress, known.lab.holder.address]);
    const receiptTokenAddress = oneOf(known, cashableOf(known, owner))?.tokenAddress;
    if (receiptTokenAddress == null) return null;
    const loanReference = `loan ${known.unique()}`;
    const lender = { lenderName: 'A bank', lenderId: person('lender').subject };
    const input = { receiptTokenAddress, ...lender, loanReference, idempotencyKey: known.unique() };
    return { input, caller: person('farmer'), writes: [`pledge ${receiptTokenAddress}`, loanReference] };
  },
  releasePledge(known) {
    const pledge = oneOf(known, openOf(known, 'ReceiptPledge', isUnreleased));
    if (pledge === null) return null;
    const { receiptTokenAddress } = pledge.input;
    const { loanReference } = pledge;
    const input = { receiptTokenAddress, loanReference, idempotencyKey: known.unique() };
    const caller = person(known.random.pick(['lender', 'operator'] as const));
    return { input, caller, writes: [`pledge ${String(receiptTokenAddress)}`, null] };
  },
  setIssuanceCap({ random }) {
    const commodityType = random.pick(CAPPED);
    const limitKg = 1 + random.below(HIGHEST_CAP_KG);
    const input = { warehouseId: CAPPED_WAREHOUSE.subject, commodityType, limitKg };
    return { input, caller: person('operator'), writes: [`cap ${commodityType}`, String(limitKg)] };
  },
  removeIssuanceCap(known) {
    // A warehouse without any cap would not be limited.
    const [, removable] = CAPPED;
    const caps = factsOf(known, 'IssuanceCap');
    const cap = caps.find(({ input }) => input['commodityType'] === removable);
    const writes = [`cap ${removable}`, null] as const;
    return cap ? { input: { issuanceCapId: cap.id }, caller: person('operator'), writes } : null;
  },
  grantApproval(known) {
    const request = oneOf(known, openOf(known, 'ApprovalRequest', isAwaiting));
    return request && { input: { approvalRequestId: request.id }, caller: person('operator', 2) };
  },
  refuseApproval(known) {
    const request = oneOf(known, openOf(known, 'ApprovalRequest', isAwaiting));
    const caller = known.random.pick([person('operator', 2), request?.caller ?? person('operator')]);
    return request && { input: { approvalRequestId: request.id, reason: 'no longer wanted' }, caller };
  },
  createApiKey({ unique }) {
    const expiresAt = Math.floor(Date.now() / 1000) + DAY_SECONDS;
    const program = { name: 'a program', subject: 'program-1', roles: ['BUYER'] };
    return { input: { ...program, expiresAt, idempotencyKey: unique() }, caller: person('admin') };
  },
  revokeApiKey(known) {
    const key = oneOf(known, factsOf(known, 'ApiKey'));
    return key && { input: { apiKeyId: key.id }, caller: person('admin') };
  },
  async revokeTokens({ api, random }) {
    const leaver = { role: 'buyer', subject: `leaver-${random.below(LEAVERS)}` } as const;
    // Makes the leaver's token, because one of a later time would not be revoked.
    await api.once('{ viewer { subject } }', {}, leaver).catch(() => null);
    return { input: { subject: leaver.subject }, caller: person('admin') };
  },
  expireReceipts: () => ({ caller: person('operator') }),
  advanceNetworkClock({ random }) {
    const seconds = random.below(6) === 0 ? HALF_A_YEAR_SECONDS : 1 + random.below(600);
    return { input: { seconds }, caller: person('operator') };
  },
  watchRetirements: () => ({ caller: person('operator') }),
};

/** @throws Error for a mutation that is neither sent nor left out for a reason, so that none is forgotten */
export async function requireEachMutation(): Promise<void> {
  const schema = buildSchema(await readFile(new URL('../schema.graphql', import.meta.url), 'utf8'));
  const names = Object.keys(schema.getMutationType()?.getFields() ?? {});
  const forgotten = names.filter((name) => !(name in MUTATIONS) && !(name in NOT_SENT));
  if (forgotten.length === 0) return;
  throw new Error(
    `chaos/operations.ts has no operation, and no reason for its absence: ${forgotten.join(', ')}`,
  );
}
