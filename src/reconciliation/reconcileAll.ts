/**
 * Reconciliation: proves the invariants on a live database and network, or names what is broken and what could not be
 * compared.
 */
import { and, asc, gt, isNotNull } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { projects } from '../db/tables/index.ts';
import { NetworkUnavailable } from '../ledger/network/port.ts';
import type { RampProvider } from '../ramp/port.ts';
import { findContradictions } from './findContradictions.ts';
import { reconcileAttempts } from './reconcileAttempts.ts';
import { reconcileDeposits } from './reconcileDeposits.ts';
import { reconcilePayouts } from './reconcilePayouts.ts';
import { INVARIANTS_OF_A_PROJECT, reconcileProject, type ReconcileDependencies } from './reconcileProject.ts';
import { reconcileReceipts } from './reconcileReceipts.ts';
import {
  add,
  nothingCompared,
  verdictsOf,
  type Comparison,
  type Invariant,
  type Verdict,
} from './verdicts.ts';

export interface ReconciliationReport extends Comparison {
  projects: number;
  /** Projects that could not be compared completely. */
  unsettledProjects: number;
  receipts: number;
  /** Receipts that could not be compared completely. */
  unsettledReceipts: number;
  /** One per invariant. */
  verdicts: Verdict[];
}

interface ReconcileAllDependencies extends ReconcileDependencies {
  /** Left out where only books and network are compared: the provider is then not asked. */
  ramp?: Pick<RampProvider, 'name' | 'findSessionByReference'>;
}

const PAGE_SIZE = 100;
/** After this many tokens without an answer, the network counts as unavailable. */
const MAX_UNANSWERED = 3;

/**
 * @param deps.isStill when the caller knows that no call is on its way to the network: unsettled calls are then
 * compared as not done, instead of left out
 * @throws NetworkUnavailable when the network does not answer; a single token without an answer is reported as not
 * proved
 */
export async function reconcileAll(
  deps: ReconcileAllDependencies,
  onProgress: (done: number) => void = () => {},
): Promise<ReconciliationReport> {
  await deps.network.status();
  const sum = nothingCompared();
  const counts = await reconcileProjects(deps, sum, onProgress);
  const receipts = await reconcileReceipts(deps, (done) => onProgress(counts.projects + done));
  add(sum, receipts);
  add(sum, await orNotAnswered(['I13'], 'deposits', reconcileDeposits(deps)));
  add(sum, await orNotAnswered(['I12'], 'landed attempts', reconcileAttempts(deps)));
  if (deps.ramp) add(sum, await reconcilePayouts({ db: deps.db, ramp: deps.ramp }));
  sum.findings.push(...(await findContradictions(deps.db)));
  return {
    ...counts,
    receipts: receipts.receipts,
    unsettledReceipts: receipts.unsettledReceipts,
    ...sum,
    verdicts: verdictsOf(sum),
  };
}

async function reconcileProjects(
  deps: ReconcileAllDependencies,
  sum: Comparison,
  onProgress: (done: number) => void,
): Promise<Pick<ReconciliationReport, 'projects' | 'unsettledProjects'>> {
  const counts = { projects: 0, unsettledProjects: 0 };
  let unanswered = 0;
  for (let page = await readPage(deps.db, null); page.length > 0;) {
    for (const row of page) {
      const project = { ...row, tokenAddress: row.tokenAddress ?? '' };
      const work = reconcileProject(deps, project);
      const compared = await orNotAnswered(INVARIANTS_OF_A_PROJECT, row.assetId, work);
      if (compared.notProved.some(({ obstacle }) => obstacle === 'NO_ANSWER')) unanswered += 1;
      if (unanswered > MAX_UNANSWERED) throw new NetworkUnavailable(compared.notProved[0]?.message ?? '');
      add(sum, compared);
      counts.projects += 1;
      if (compared.notProved.length > 0) counts.unsettledProjects += 1;
      onProgress(counts.projects);
    }
    page = await readPage(deps.db, page.at(-1)?.id ?? null);
  }
  return counts;
}

/** Without an answer the subject is not proved; the rest is compared all the same. */
async function orNotAnswered(
  invariants: readonly Invariant[],
  what: string,
  work: Promise<Comparison>,
): Promise<Comparison> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof NetworkUnavailable)) throw error;
    const message = `${what}: ${error.message}`;
    const notProved = invariants.map((invariant) => ({ invariant, obstacle: 'NO_ANSWER' as const, message }));
    return { findings: [], notProved };
  }
}

async function readPage(db: Db, afterId: string | null) {
  return db
    .select()
    .from(projects)
    .where(and(isNotNull(projects.tokenAddress), afterId === null ? undefined : gt(projects.id, afterId)))
    .orderBy(asc(projects.id))
    .limit(PAGE_SIZE);
}
