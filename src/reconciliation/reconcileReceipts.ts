/**
 * Compares every warehouse receipt with its token on the network, and each settlement contract's balance of it with the
 * contract's open off-ramp sessions.
 */
import { and, inArray, sql } from 'drizzle-orm';
import { receipts } from '../db/tables/index.ts';
import { NetworkRefusal } from '../ledger/network/port.ts';
import { toBaseUnits } from '../ledger/units.ts';
import { largest, smallest } from '../lib/bigints.ts';
import type { ReconcileDependencies } from './reconcileProject.ts';
import { createQuestions, orNotAnswered } from './questions.ts';
import { pagesById, type PageById } from './pagesById.ts';
import { add, nothingCompared, type Comparison } from './verdicts.ts';

interface ReceiptReconciliation extends Comparison {
  receipts: number;
  /** Receipts that could not be compared completely. */
  unsettledReceipts: number;
}

type Dependencies = Pick<ReconcileDependencies, 'db' | 'network' | 'isStill'> & {
  /** Of an incremental run: only these. */
  receiptIds?: readonly string[];
};

type ComparedReceipt = Pick<typeof receipts.$inferSelect, 'id' | 'assetId' | 'quantityKg'> & {
  tokenAddress: string;
  /** The settlement contracts of its off-ramp sessions: another one may be in use now, or none. */
  settlementAddresses: string[];
};

/** Network reads under way at once. */
const MAX_CONCURRENT_READS = 8;

export async function reconcileReceipts(
  deps: Dependencies,
  onProgress: (done: number) => void = () => {},
): Promise<ReceiptReconciliation> {
  const report: ReceiptReconciliation = { receipts: 0, unsettledReceipts: 0, ...nothingCompared() };
  let inUse: string | undefined;
  const readSettlement = async () => {
    inUse = (await deps.network.settlementContract())?.address;
    return nothingCompared();
  };
  add(report, await orNotAnswered(['I9'], 'the settlement contract', readSettlement()));
  const questions = createQuestions({
    invariants: ['I3', 'I9'],
    noun: 'receipts',
    concurrency: MAX_CONCURRENT_READS,
  });
  for await (const page of pagesById(receipts.id, deps.receiptIds, readPage(deps))) {
    const all = await questions.askAll(
      page,
      ({ assetId }) => assetId,
      (receipt) => {
        report.receipts += 1;
        onProgress(report.receipts);
        return compareReceipt(deps, receipt, inUse);
      },
    );
    report.unsettledReceipts += all.filter((compared) => compared?.notProved.length !== 0).length;
  }
  add(report, questions.sum());
  return report;
}

const readPage =
  ({ db }: Dependencies) =>
  ({ where, orderBy, limit }: PageById): PromiseLike<ComparedReceipt[]> =>
    db
      .select({
        id: receipts.id,
        assetId: receipts.assetId,
        quantityKg: receipts.quantityKg,
        tokenAddress: sql<string>`${receipts.tokenAddress}`,
        // The table by its name: of a query's only table Drizzle writes the column alone, which is then the session's.
        settlementAddresses: sql<string[]>`(SELECT coalesce(jsonb_agg(DISTINCT s.settlement_address), '[]')
          FROM off_ramp_sessions s WHERE s.receipt_id = receipts.id)`,
      })
      .from(receipts)
      .where(and(inArray(receipts.state, ['ACTIVE', 'EXPIRED']), where))
      .orderBy(orderBy)
      .limit(limit);

async function compareReceipt(
  deps: Dependencies,
  receipt: ComparedReceipt,
  inUse: string | undefined,
): Promise<Comparison> {
  const compared = nothingCompared();
  try {
    add(compared, await orNotAnswered(['I3'], receipt.assetId, compareSupply(deps, receipt)));
    const addresses = inUse === undefined ? [] : [inUse];
    for (const address of new Set([...addresses, ...receipt.settlementAddresses])) {
      const custody = compareCustody(deps, receipt, address);
      add(compared, await orNotAnswered(['I9'], receipt.assetId, custody));
    }
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw error;
    const message = `${receipt.assetId}: token ${receipt.tokenAddress} can't be read: ${error.message} (${error.reason})`;
    compared.findings.push({ invariant: 'I3', message });
  }
  return compared;
}

/** A receipt token is minted once and never burned. */
async function compareSupply(deps: Dependencies, receipt: ComparedReceipt): Promise<Comparison> {
  const totalSupply = await deps.network.totalSupply(receipt.tokenAddress);
  const deposited = toBaseUnits(receipt.quantityKg);
  if (totalSupply === deposited) return nothingCompared();
  const message = `${receipt.assetId}: ${totalSupply} base units were minted, ${deposited} were deposited`;
  return { findings: [{ invariant: 'I3', message }], notProved: [] };
}

/**
 * While calls are under way, the contract's balance lies between the least and the most that they can leave there.
 */
async function compareCustody(
  deps: Dependencies,
  receipt: ComparedReceipt,
  settlementAddress: string,
): Promise<Comparison> {
  const before = await readDeposits(deps, receipt.id, settlementAddress);
  const held = await deps.network.balanceOf(receipt.tokenAddress, settlementAddress);
  const after = await readDeposits(deps, receipt.id, settlementAddress);
  const isSettled = before.openKg === after.openKg && before.leavingKg + after.leavingKg === 0n;
  // Deposits only add up, so a balance that equals the open sessions is all of them.
  if (isSettled && held === toBaseUnits(after.openKg)) return nothingCompared();
  const lowest = toBaseUnits(smallest(before.openKg - before.leavingKg, after.openKg - after.leavingKg));
  const highest = toBaseUnits(largest(before.openKg + before.comingKg, after.openKg + after.comingKg));
  const sums = `the settlement contract ${settlementAddress} holds ${held} base units, open off-ramp sessions say ${toBaseUnits(after.openKg)}`;
  const message = `${receipt.assetId}: ${sums}`;
  if (held < lowest || held > highest) {
    return { findings: [{ invariant: 'I9', message }], notProved: [] };
  }
  const reason = `${after.comingKg} kg may be on their way in, and ${after.leavingKg} kg on their way out`;
  const obstacle = after.isReviewed ? 'UNDER_REVIEW' : 'UNDER_WAY';
  return { findings: [], notProved: [{ invariant: 'I9', obstacle, message: `${message}; ${reason}` }] };
}

interface Deposits {
  openKg: bigint;
  /** Amounts that unsettled calls may have deposited or released. */
  comingKg: bigint;
  leavingKg: bigint;
  isReviewed: boolean;
}

/**
 * A wallet may send what it signed at any moment, without the platform, and also after the session was closed. What a holder gets
 * back may be less than was agreed.
 */
async function readDeposits(
  { db, isStill }: Dependencies,
  receiptId: string,
  settlementAddress: string,
): Promise<Deposits> {
  const [row] = await db.execute<{ open: string; coming: string; leaving: string; reviewed: boolean }>(sql`
    SELECT coalesce(sum(c.token_amount_kg) FILTER (WHERE c.is_open), 0)::text AS open,
      coalesce(sum(c.token_amount_kg) FILTER (WHERE c.deposited_at IS NULL AND (c.by_holder OR (c.is_under_way AND NOT ${isStill ?? false}))), 0)::text AS coming,
      coalesce(sum(c.token_amount_kg) FILTER (WHERE c.is_open AND ((c.is_under_way AND NOT ${isStill ?? false}) OR c.is_given_back)), 0)::text AS leaving,
      coalesce(bool_or(c.state = 'NEEDS_REVIEW'), false) AS reviewed
    FROM (SELECT *, deposited_at IS NOT NULL AND released_at IS NULL AS is_open,
        depositor = 'HOLDER' AND provider_session_id IS NOT NULL AS by_holder,
        depositor = 'HOLDER' AND resolution = 'REFUND' AS is_given_back,
        EXISTS (SELECT 1 FROM submissions s WHERE s.target_id = off_ramp_sessions.id AND s.state IN ('PENDING', 'NEEDS_REVIEW')) AS is_under_way
      FROM off_ramp_sessions WHERE receipt_id = ${receiptId} AND settlement_address = ${settlementAddress}) AS c`);
  if (!row) throw new Error('a sum without groups has no row');
  const { open, coming, leaving, reviewed: isReviewed } = row;
  return { openKg: BigInt(open), comingKg: BigInt(coming), leavingKg: BigInt(leaving), isReviewed };
}
