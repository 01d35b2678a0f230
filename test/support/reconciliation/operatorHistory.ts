/**
 * The operators' part of the rich history: requests for approval, a limit of issuance, a run of the expiry
 * job, a decided review, a settlement contract, and audit entries that are exported and removed.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { projectInput } from '../../../devnet/platform.ts';
import { exportAuditLog } from '../../../src/identity/exportAuditLog.ts';
import { findRun, requestRun } from '../../../src/jobs/expiryRuns.ts';
import { callerOf } from '../callers.ts';
import type { EmbeddedNetwork } from '../embeddedNetwork.ts';
import { grantApproval } from '../../../src/resolvers/approvals/decideApproval.ts';
import { requestProjectApproval } from '../../../src/resolvers/approvals/requestApproval.ts';
import { deployRampSettlement } from '../../../src/resolvers/operations/deployRampSettlement.ts';
import { STORAGE_SECONDS } from '../../../src/resolvers/warehouse/createDeposit.ts';
import { setIssuanceCap } from '../../../src/resolvers/warehouse/issuanceCaps.ts';
import { runApproved } from '../../../src/schema/approvals/runApproved.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { writeAuditEntries } from '../auditEntries.ts';
import type { FaultPlan } from '../faults/faultyNetwork.ts';
import { decideSession, depositedCashOut, providerSays, reaches } from '../warehouse.ts';

/** Only a hang takes this long. */
const PATIENCE_MS = 60_000;

/** Makes one request that awaits approval, and one that is approved. */
export async function decideApprovals({ dependencies }: Platform): Promise<void> {
  const approvalPolicy = { isRequired: true, aboveTonnes: 1n, aboveKilograms: 1n, lifetimeSeconds: 3_600 };
  const deps = { ...dependencies, approvalPolicy };
  const inADay = Math.ceil(Date.now() / 1000) + 86_400;
  const first = callerOf('developer', 'operator', inADay);
  const second = callerOf('second', 'operator', inADay);
  const request = async () => {
    const asked = await requestProjectApproval(deps, first, projectInput({ quantityCO2e: 50n }));
    if (asked === null) throw new Error('it needs approval');
    return asked;
  };
  await request();
  await grantApproval(deps, second, (await request()).id, (asked, grant) => runApproved(deps, asked, grant));
}

export async function limitIssuance({ dependencies }: Platform): Promise<void> {
  const limit = { warehouseId: 'warehouse-1', commodityType: 'Maize', limitKg: 1_000_000n };
  await setIssuanceCap(dependencies, 'operator', limit);
}

/** Makes a cash-out whose release is refused once, and lets an operator retry it. */
export async function decideReview(platform: Platform, onNetwork: (plan: FaultPlan) => void): Promise<void> {
  const { id: offRampSessionId, providerSessionId } = await depositedCashOut(platform);
  onNetwork((method, _n, call) =>
    method === 'draft' && call?.kind === 'confirmOffRampSettlement' ? 'refused' : null,
  );
  await providerSays(platform, providerSessionId, 'settled');
  await reaches(platform, offRampSessionId, 'NEEDS_REVIEW');
  onNetwork(() => null);
  const decided = { offRampSessionId, decision: 'RETRY' as const, reason: 'tried again' };
  await decideSession(platform.dependencies, 'operator', decided);
  await reaches(platform, offRampSessionId, 'SETTLED');
}

/** Deploys a further settlement contract, which no setting uses. */
export async function deploySettlement({ dependencies }: Platform): Promise<void> {
  const network = { ...dependencies.network, settlementContract: async () => null };
  const input = { idempotencyKey: randomUUID() };
  await deployRampSettlement({ ...dependencies, network }, 'operator', input);
}

/** Lets all existing receipts expire; then makes a new one, with a cash-out. */
export async function expireReceipts(platform: Platform, network: EmbeddedNetwork): Promise<void> {
  const { dependencies } = platform;
  await network.advanceClock(Number(STORAGE_SECONDS) + 1);
  const run = await requestRun(dependencies, { trigger: 'MANUAL', night: null, requestedBy: 'operator' });
  await vi.waitUntil(async () => (await findRun(dependencies, run?.id ?? ''))?.endedAt, {
    timeout: PATIENCE_MS,
  });
  await depositedCashOut(platform);
}

/** Exports and removes a process's entries of long ago; younger ones can't be removed. */
export async function pruneAuditLog({ dependencies }: Platform): Promise<void> {
  const { db, logs } = dependencies;
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
  await writeAuditEntries(db, [2], { now: () => daysAgo(40) });
  await logs.catchUp();
  const folder = await mkdtemp(join(tmpdir(), 'audit-'));
  await exportAuditLog({
    db,
    before: daysAgo(35),
    path: join(folder, 'audit.jsonl'),
    prune: true,
  });
  await rm(folder, { recursive: true });
}
