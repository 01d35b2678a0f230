/**
 * The audit: proves the invariants on a live database and network, or names what is broken.
 */
import { and, asc, gt, isNotNull } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { projects } from '../db/schema/index.ts';
import type { FeedDependencies } from '../feed/fillToken.ts';
import type { LedgerNetwork } from '../ledger/network/port.ts';
import { auditBooks } from './auditBooks.ts';
import { auditReceipts } from './auditReceipts.ts';
import type { Finding } from './finding.ts';
import { reconcileProject } from './reconcileProject.ts';

export interface AuditReport {
  projects: number;
  /** Projects whose sums could not be compared because something of theirs was still under way. */
  unsettledProjects: number;
  receipts: number;
  /** Receipts whose custody could not be compared, for the same reason. */
  unsettledReceipts: number;
  findings: Finding[];
}

export interface AuditDependencies {
  db: Db;
  network: LedgerNetwork;
  treasuryAddress: string;
  feed: FeedDependencies;
  isStill?: boolean;
}

const PAGE_SIZE = 100;

/**
 * @param deps.isStill when the caller knows that nothing is on its way to the network, what is not done yet is
 * compared as not done, rather than left out.
 * @throws NetworkUnavailable: an audit that can't read the network proves nothing.
 */
export async function audit(
  deps: AuditDependencies,
  onProgress: (done: number) => void = () => {},
): Promise<AuditReport> {
  const report = { projects: 0, unsettledProjects: 0, findings: [] as Finding[] };
  for (let page = await readPage(deps.db, null); page.length > 0;) {
    for (const row of page) {
      const project = { ...row, tokenAddress: row.tokenAddress ?? '' };
      const { unsettled, findings } = await reconcileProject(deps, project);
      report.findings.push(...findings);
      report.projects += 1;
      if (unsettled > 0) report.unsettledProjects += 1;
      onProgress(report.projects);
    }
    page = await readPage(deps.db, page.at(-1)?.id ?? null);
  }
  const { findings, ...receipts } = await auditReceipts(deps, (done) => onProgress(report.projects + done));
  report.findings.push(...findings, ...(await auditBooks(deps.db)));
  return { ...report, ...receipts };
}

async function readPage(db: Db, afterId: string | null) {
  return db
    .select()
    .from(projects)
    .where(and(isNotNull(projects.tokenAddress), afterId === null ? undefined : gt(projects.id, afterId)))
    .orderBy(asc(projects.id))
    .limit(PAGE_SIZE);
}
