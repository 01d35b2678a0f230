/**
 * One project's books against its token on the network.
 */
import { isDeepStrictEqual } from 'node:util';
import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { retirementRecords, retirements, submissions } from '../db/schema/index.ts';
import { countStored, fillToken, type FeedDependencies } from '../feed/fillToken.ts';
import { findUnclaimedRecords } from '../feed/unclaimedRecords.ts';
import { readPositions, type ProjectPosition } from '../ledger/books/readBalances.ts';
import type { CarbonTotals, LedgerNetwork } from '../ledger/network/port.ts';
import { toBaseUnits } from '../ledger/units.ts';
import type { Finding } from './finding.ts';

/** Unmatched rows beyond this say nothing new. */
const MAX_UNMATCHED = 50;
/** A project so busy that it never stands still is reported as unsettled. */
const MAX_READS = 5;

export interface Reconciliation {
  books: ProjectPosition;
  network: CarbonTotals & { custodyBalance: bigint };
  /** Network calls of this token that are not settled: while there are any, sums may differ for a moment. */
  unsettled: number;
  findings: Finding[];
}

interface ReconciledProject {
  id: string;
  tokenAddress: string;
  assetId: string;
  quantityTonnes: bigint;
  state: string;
}

interface ReconcileDependencies {
  db: Db;
  network: LedgerNetwork;
  treasuryAddress: string;
  feed: FeedDependencies;
  /** Nothing is on its way to the network, so what is not settled has not happened. */
  isStill?: boolean;
}

/**
 * Compares what can be compared: everything when nothing is unsettled, and otherwise what holds even then.
 * @throws NetworkUnavailable
 */
export async function reconcileProject(
  deps: ReconcileDependencies,
  project: ReconciledProject,
): Promise<Reconciliation> {
  const sums = await readSettledSums(deps, project);
  // Our own copy of the token's records may lag behind for a moment; the comparison is of facts, not of speed.
  const totals = await fillToken(deps.feed, { projectId: project.id, tokenAddress: project.tokenAddress });
  const findings = [
    ...(await compareFeed(deps, project, totals.totalRetirements)),
    ...(sums.unsettled === 0 ? compareSums(project, sums.books, sums.network) : []),
    ...(await compareRecords(deps, project)),
  ];
  return { ...sums, findings };
}

/** Reads both sides until the books stood still meanwhile and nothing is under way, or gives up trying. */
async function readSettledSums(deps: ReconcileDependencies, project: ReconciledProject) {
  for (let reads = 1; ; reads++) {
    const books = await readBooks(deps.db, project.id);
    const [totals, custodyBalance] = await Promise.all([
      deps.network.carbonTotals(project.tokenAddress),
      deps.network.balanceOf(project.tokenAddress, deps.treasuryAddress),
    ]);
    const pending = deps.isStill ? 0 : await countUnsettled(deps.db, project.id);
    const moved = !isDeepStrictEqual(books, await readBooks(deps.db, project.id));
    const unsettled = pending + (moved ? 1 : 0);
    if (unsettled === 0 || reads === MAX_READS) {
      return { books, network: { ...totals, custodyBalance }, unsettled };
    }
  }
}

async function readBooks(db: Db, projectId: string): Promise<ProjectPosition> {
  const positions = await readPositions(db, [projectId]);
  const books = positions.get(projectId);
  if (!books) throw new Error(`project ${projectId} has no position`);
  return books;
}

async function compareFeed(
  deps: ReconcileDependencies,
  project: ReconciledProject,
  totalRetirements: number,
): Promise<Finding[]> {
  const stored = await countStored(deps.db, project.tokenAddress);
  if (stored >= totalRetirements) return [];
  return [
    {
      invariant: 'I10',
      message: `${project.assetId}: the token has ${totalRetirements} retirements, the feed ${stored}`,
    },
  ];
}

function compareSums(
  project: ReconciledProject,
  books: ProjectPosition,
  network: CarbonTotals & { custodyBalance: bigint },
): Finding[] {
  const findings: Finding[] = [];
  const expectedCustody = toBaseUnits(books.inventory + books.heldByBuyers + books.retiring);
  if (network.custodyBalance !== expectedCustody) {
    findings.push({
      invariant: 'I2',
      message: `${project.assetId}: custody holds ${network.custodyBalance} base units, the books say ${expectedCustody}`,
      ...(network.custodyBalance > expectedCustody ? { isGift: true } : {}),
    });
  }
  const minted = network.totalSupply + network.totalRetired;
  const expectedMinted = project.state === 'OPEN' ? toBaseUnits(project.quantityTonnes) : 0n;
  if (minted !== expectedMinted || toBaseUnits(books.issued) !== expectedMinted) {
    findings.push({
      invariant: 'I3',
      message:
        `${project.assetId}: ${minted} base units were minted and ${toBaseUnits(books.issued)} booked, ` +
        `verified are ${expectedMinted}`,
    });
  }
  return findings;
}

/** Our settled retirements and custody's records, one to one by index, amount, beneficiary and note. */
async function compareRecords(deps: ReconcileDependencies, project: ReconciledProject): Promise<Finding[]> {
  const unmatched = await deps.db
    .select({ id: retirements.id, recordIndex: retirements.recordIndex })
    .from(retirements)
    .leftJoin(
      retirementRecords,
      and(
        eq(retirementRecords.projectId, retirements.projectId),
        eq(retirementRecords.index, retirements.recordIndex),
        eq(retirementRecords.retiredBy, deps.network.custodyAddress),
        eq(retirementRecords.beneficiary, retirements.beneficiary),
        eq(retirementRecords.note, retirements.note),
        sql`${retirementRecords.amount} = ${retirements.amountTonnes}::numeric * 10::numeric ^ 18`,
      ),
    )
    .where(
      and(
        eq(retirements.projectId, project.id),
        eq(retirements.state, 'RETIRED'),
        sql`${retirementRecords.index} IS NULL`,
      ),
    )
    .limit(MAX_UNMATCHED);
  const unclaimed = await findUnclaimedRecords(deps.db, {
    projectId: project.id,
    custodyAddress: deps.network.custodyAddress,
    // A burn that landed but is not settled yet has its record already.
    condition: deps.isStill
      ? undefined
      : sql`NOT EXISTS (SELECT 1 FROM ${retirements} r
          WHERE r.project_id = ${project.id} AND r.state IN ('PENDING', 'NEEDS_REVIEW'))`,
    limit: MAX_UNMATCHED,
  });
  return [
    ...unmatched.map(({ id, recordIndex }) => ({
      invariant: 'I4',
      message: `${project.assetId}: retirement ${id} claims record ${recordIndex}, which says otherwise or is missing`,
    })),
    ...unclaimed.map((index) => ({
      invariant: 'I4',
      message: `${project.assetId}: custody's retirement record ${index} belongs to no retirement of this platform`,
    })),
  ];
}

async function countUnsettled(db: Db, projectId: string): Promise<number> {
  const subjects = db
    .select({ id: retirements.id })
    .from(retirements)
    .where(eq(retirements.projectId, projectId));
  return db.$count(
    submissions,
    and(
      inArray(submissions.state, ['PENDING', 'NEEDS_REVIEW']),
      sql`(${submissions.subjectId} = ${projectId} OR ${submissions.subjectId} IN (${subjects}))`,
    ),
  );
}
