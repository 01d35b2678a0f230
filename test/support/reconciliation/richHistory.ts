/**
 * A database with rows of every kind: two projects and buyers, retirements in each state, holders who retire
 * alone and through the platform, receipts, a pledge, cash-outs with each end, an API key, an audit log, and
 * the work of operators (operatorHistory.ts). No work is under way when the database is returned.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Platform } from '../../../src/startup/compose.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { createApiKey } from '../../../src/resolvers/access/apiKeys.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { pledgeReceipt } from '../../../src/resolvers/warehouse/pledgeReceipt.ts';
import { releasePledge } from '../../../src/resolvers/warehouse/releasePledge.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { prepareRetirement } from '../../../src/resolvers/wallets/prepareRetirement.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import type { Price } from '../../../src/resolvers/carbon/projectPrices.ts';
import { setProjectPrice } from '../../../src/resolvers/carbon/setProjectPrice.ts';
import { transferCredits } from '../../../src/resolvers/carbon/transferCredits.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { writeAuditEntries } from '../auditEntries.ts';
import { callerOf } from '../callers.ts';
import { createTestDatabase, type TestDatabase } from '../database/database.ts';
import { createEmbeddedHolder } from '../wallets/embeddedWallets.ts';
import { withFaults, type FaultPlan } from '../faults/faultyNetwork.ts';
import { withRampFaults, type RampFaultPlan } from '../faults/faultyRamp.ts';
import { openProject } from '../../../devnet/platform.ts';
import { embeddedNetworkOn, platformOn } from '../platform.ts';
import { signAndSubmit } from '../wallets/walletWorld.ts';
import { retirementInput } from '../wallets/walletRetirements.ts';
import {
  decideApprovals,
  decideReview,
  deploySettlement,
  expireReceipts,
  limitIssuance,
  pruneAuditLog,
} from './operatorHistory.ts';
import {
  activeReceipt,
  cashOutInput,
  depositedCashOut,
  farmer,
  providerSays,
  reaches,
} from '../warehouse.ts';

const IMPATIENT_MS = 300;

/** The caller drops the database, which has no connections. */
export async function createRichHistory(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  const network = await embeddedNetworkOn(database.handle);
  let faults: FaultPlan = () => null;
  let rampFaults: RampFaultPlan = () => null;
  const platform = await platformOn(
    database.handle,
    withFaults(network, (...call) => faults(...call)),
  );
  const { dependencies } = platform;
  dependencies.ramp = withRampFaults(dependencies.ramp, (...call) => rampFaults(...call));
  await platform.start();

  const [first, second] = [await openProject(platform, 1000n), await openProject(platform, 500n)];
  await price(platform, first, '12.5');
  for (const project of [first, second]) {
    for (const buyerId of ['acme', 'globex']) await buy(platform, project, buyerId, 100n);
  }
  await buy(platform, first, 'acme', 1n, { amount: '12.5', currency: 'EUR' });
  for (const note of ['one', 'two', 'three']) await burn(platform, first, 'acme', 5n, note);
  await burn(platform, first, 'globex', 7n, 'four');
  await burn(platform, second, 'globex', 3n, 'five');
  // Its key has the hash of this text as JSON of the program; the reconciliation writes it as JSON of the database.
  await give(platform, first, 9n, 'Year-end – "gift" \\ 50 %');
  await give(platform, first, 1n, null);

  // Custody loses the tonnes that the holder gets, so the sums of this project differ from here on.
  const holder = createEmbeddedHolder();
  await network.transfer(second.tokenAddress, holder.address, toBaseUnits(20n));
  await network
    .createSigner(holder.secretKey)
    .retire({ tokenAddress: second.tokenAddress, amount: toBaseUnits(2n), beneficiary: 'Foreign', note: '' });
  const act = await prepareRetirement(dependencies, 'acme', retirementInput(second.tokenAddress, holder));
  await signAndSubmit({ platform }, holder, act);

  await createCashOuts(
    platform,
    (plan) => {
      rampFaults = plan;
    },
    (plan) => {
      faults = plan;
    },
  );
  await decideReview(platform, (plan) => {
    faults = plan;
  });
  await expireReceipts(platform, network);
  await deploySettlement(platform);
  await limitIssuance(platform);
  await decideApprovals(platform);
  await pruneAuditLog(platform);
  await writeAuditEntries(database.handle.db, [5, 2]);
  await createKey(platform);

  faults = (method, _n, call) => (method === 'draft' && call?.kind === 'retire' ? 'refused' : null);
  await burn(platform, first, 'acme', 4n, 'refused').catch(() => undefined);
  dependencies.mutationWaitMs = IMPATIENT_MS;
  faults = (method) =>
    method === 'broadcast' ? 'unreachable' : method === 'outcome' ? 'history-gone' : null;
  const reviewed = await retireUntil(platform, first, 'under review', 'NEEDS_REVIEW');
  faults = (method) => (method === 'broadcast' ? 'unreachable' : null);
  const pending = await retireUntil(platform, first, 'under way', 'PENDING');
  if (reviewed !== 'NEEDS_REVIEW' || pending !== 'PENDING') throw new Error(`${reviewed} and ${pending}`);

  await platform.stop();
  await database.handle.close();
  return database;
}

async function price(platform: Platform, { id, developerId }: TokenizedProject, amount: string) {
  const caller = { subject: developerId, isOperator: false };
  const input = { projectId: id, pricePerTonne: { amount, currency: 'EUR' }, idempotencyKey: randomUUID() };
  await setProjectPrice(platform.dependencies, caller, input);
}

async function buy(
  platform: Platform,
  { tokenAddress }: TokenizedProject,
  buyerId: string,
  amountCO2e: bigint,
  expectedPricePerTonne: Price | null = null,
) {
  const input = { buyerId, tokenAddress, amountCO2e, expectedPricePerTonne, idempotencyKey: randomUUID() };
  await purchase(platform.dependencies, buyerId, input);
}

/** Transfers credits from acme to globex. */
async function give(
  platform: Platform,
  { tokenAddress }: TokenizedProject,
  amountCO2e: bigint,
  memo: string | null,
) {
  const input = { fromBuyerId: 'acme', toBuyerId: 'globex', tokenAddress, amountCO2e, memo };
  await transferCredits(platform.dependencies, 'acme', { ...input, idempotencyKey: randomUUID() });
}

async function burn(
  platform: Platform,
  { tokenAddress }: TokenizedProject,
  buyerId: string,
  amountCO2e: bigint,
  note: string,
) {
  const input = { buyerId, buyerName: `${buyerId} Ltd`, tokenAddress, amountCO2e, note };
  return retire(platform.dependencies, buyerId, { ...input, idempotencyKey: randomUUID() });
}

async function retireUntil(platform: Platform, project: TokenizedProject, note: string, state: string) {
  platform.dependencies.mutationWaitMs = state === 'PENDING' ? IMPATIENT_MS : 20_000;
  return (await burn(platform, project, 'acme', 6n, note)).state;
}

/**
 * Ends: SETTLED, REFUNDED, two CLOSED (by the network, and expired before the provider was reached), and one
 * that waits.
 */
async function createCashOuts(
  platform: Platform,
  onRamp: (plan: RampFaultPlan) => void,
  onNetwork: (plan: FaultPlan) => void,
): Promise<void> {
  const { dependencies } = platform;
  const receipts = [await activeReceipt(platform), await activeReceipt(platform)] as const;
  await pledgeAndRelease(platform, receipts[0]);
  for (const [status, end] of [
    ['settled', 'SETTLED'],
    ['failed', 'REFUNDED'],
  ] as const) {
    const session = await depositedCashOut(platform, receipts[0]);
    await providerSays(platform, session.providerSessionId, status);
    await reaches(platform, session.id, end);
  }
  await depositedCashOut(platform, receipts[1]);
  onNetwork((method, _n, call) =>
    method === 'draft' && call?.kind === 'depositOffRamp' && call.sessionId.startsWith('manual_')
      ? 'refused'
      : null,
  );
  await cashOut(dependencies, farmer, cashOutInput(receipts[1])).catch(() => undefined);
  onNetwork(() => null);
  onRamp((method) => (method === 'openSession' ? 'unreachable' : null));
  const { id } = await cashOut(
    { ...dependencies, mutationWaitMs: IMPATIENT_MS },
    farmer,
    cashOutInput(receipts[1]),
  );
  // The database's clock decides, so the test moves the end of the quote instead.
  await dependencies.db.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    await tx.execute(
      sql`UPDATE off_ramp_sessions SET quote_expires_at = now() - interval '1 hour' WHERE id = ${id}`,
    );
  });
  await reaches(platform, id, 'CLOSED');
  onRamp(() => null);
}

async function pledgeAndRelease(
  { dependencies }: Platform,
  { tokenAddress }: TokenizedReceipt,
): Promise<void> {
  const input = { receiptTokenAddress: tokenAddress, loanReference: 'loan 1' };
  const pledge = { ...input, lenderName: 'Bank', idempotencyKey: randomUUID() };
  await pledgeReceipt(dependencies, farmer, pledge);
  const operator = { subject: 'operator', isOperator: true };
  await releasePledge(dependencies, operator, { ...input, idempotencyKey: randomUUID() });
}

async function createKey({ dependencies }: Platform): Promise<void> {
  const expiresAt = BigInt(Math.ceil(Date.now() / 1000) + 86_400);
  const input = { name: 'reports', subject: 'acme', roles: ['buyer' as const], expiresAt };
  const administrator = callerOf('administrator', 'admin', Number(expiresAt));
  await createApiKey(dependencies, administrator, { ...input, idempotencyKey: randomUUID() });
}
