/**
 * Every warehouse receipt against its token on the network, and what the settlement contract holds of it against
 * the cash-outs that are open.
 */
import { and, asc, eq, gt, inArray, isNotNull, isNull, sql, sum } from 'drizzle-orm';
import pLimit from 'p-limit';
import type { Db } from '../db/connection.ts';
import { cashOutSessions, receipts, submissions } from '../db/schema/index.ts';
import type { LedgerNetwork } from '../ledger/network/port.ts';
import { toBaseUnits } from '../ledger/units.ts';
import type { Finding } from './finding.ts';

export interface ReceiptAudit {
  receipts: number;
  /** Receipts whose custody could not be compared because a call of theirs was under way. */
  unsettledReceipts: number;
  findings: Finding[];
}

interface AuditReceiptsDependencies {
  db: Db;
  network: LedgerNetwork;
  /** Nothing is on its way to the network, so what is not settled has not happened. */
  isStill?: boolean;
}

type AuditedReceipt = Pick<typeof receipts.$inferSelect, 'id' | 'assetId' | 'quantityKg'> & {
  tokenAddress: string;
};

const PAGE_SIZE = 200;
/** Reads of the network under way at once. */
const MAX_CONCURRENT_READS = 8;

/** @throws NetworkUnavailable */
export async function auditReceipts(
  deps: AuditReceiptsDependencies,
  onProgress: (done: number) => void = () => {},
): Promise<ReceiptAudit> {
  const report: ReceiptAudit = { receipts: 0, unsettledReceipts: 0, findings: [] };
  const settlement = await deps.network.settlementContract();
  const limit = pLimit(MAX_CONCURRENT_READS);
  for (let page = await readPage(deps.db, null); page.length > 0;) {
    await Promise.all(
      page.map((receipt) =>
        limit(async () => {
          report.findings.push(...(await compareSupply(deps, receipt)));
          const custody = await compareCustody(deps, receipt, settlement?.address ?? null);
          report.findings.push(...custody.findings);
          if (!custody.isSettled) report.unsettledReceipts += 1;
          report.receipts += 1;
          onProgress(report.receipts);
        }),
      ),
    );
    page = await readPage(deps.db, page.at(-1)?.id ?? null);
  }
  return report;
}

async function readPage(db: Db, afterId: string | null): Promise<AuditedReceipt[]> {
  return db
    .select({
      id: receipts.id,
      assetId: receipts.assetId,
      quantityKg: receipts.quantityKg,
      tokenAddress: sql<string>`${receipts.tokenAddress}`,
    })
    .from(receipts)
    .where(
      and(
        inArray(receipts.state, ['ACTIVE', 'EXPIRED']),
        afterId === null ? undefined : gt(receipts.id, afterId),
      ),
    )
    .orderBy(asc(receipts.id))
    .limit(PAGE_SIZE);
}

/** A receipt token is minted once and never burned. */
async function compareSupply(deps: AuditReceiptsDependencies, receipt: AuditedReceipt): Promise<Finding[]> {
  const totalSupply = await deps.network.totalSupply(receipt.tokenAddress);
  const deposited = toBaseUnits(receipt.quantityKg);
  if (totalSupply === deposited) return [];
  return [
    {
      invariant: 'I3',
      message: `${receipt.assetId}: ${totalSupply} base units were minted, ${deposited} were deposited`,
    },
  ];
}

async function compareCustody(
  deps: AuditReceiptsDependencies,
  receipt: AuditedReceipt,
  settlementAddress: string | null,
): Promise<{ isSettled: boolean; findings: Finding[] }> {
  if (settlementAddress === null) return { isSettled: true, findings: [] };
  const before = await readOpenDeposits(deps.db, receipt.id);
  const held = await deps.network.balanceOf(receipt.tokenAddress, settlementAddress);
  const after = await readOpenDeposits(deps.db, receipt.id);
  // Between a landed call and its settling the two sides differ for a moment.
  const unsettledCalls = deps.isStill ? 0 : before.unsettledCalls + after.unsettledCalls;
  const isSettled =
    unsettledCalls === 0 && before.byHolders + after.byHolders === 0 && before.openKg === after.openKg;
  if (!isSettled || held === toBaseUnits(after.openKg)) return { isSettled, findings: [] };
  const message = `${receipt.assetId}: the settlement contract holds ${held} base units, open cash-outs say ${toBaseUnits(after.openKg)}`;
  return { isSettled, findings: [{ invariant: 'I9', message }] };
}

async function readOpenDeposits(db: Db, receiptId: string) {
  const ofReceipt = eq(cashOutSessions.receiptId, receiptId);
  const [open] = await db
    .select({ kg: sum(cashOutSessions.tokenAmountKg) })
    .from(cashOutSessions)
    .where(and(ofReceipt, isNotNull(cashOutSessions.depositedAt), isNull(cashOutSessions.releasedAt)));
  const sessions = db.select({ id: cashOutSessions.id }).from(cashOutSessions).where(ofReceipt);
  const unsettledCalls = await db.$count(
    submissions,
    and(inArray(submissions.state, ['PENDING', 'NEEDS_REVIEW']), inArray(submissions.subjectId, sessions)),
  );
  // Wallets may send what they signed at any moment, and without us.
  const byHolders = await db.$count(
    cashOutSessions,
    and(
      ofReceipt,
      isNotNull(cashOutSessions.signUntil),
      inArray(cashOutSessions.state, ['AWAITING_SIGNATURE', 'DEPOSITING', 'CLOSING']),
    ),
  );
  return { openKg: BigInt(open?.kg ?? 0), unsettledCalls, byHolders };
}
