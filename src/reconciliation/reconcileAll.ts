/**
 * Reconciliation: proves the invariants on a live database and network, or names the broken ones and the
 * items that could not be compared.
 */
import { and, isNotNull, type SQL } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { projects } from '../db/tables/index.ts';
import { pagesById } from './pagesById.ts';
import type { ChangedRows, Snapshot } from './excerpt.ts';
import { CONTRADICTIONS, findChangedContradictions, findContradictions } from './findContradictions.ts';
import { createQuestions } from './questions.ts';
import { reconcileAttempts } from './reconcileAttempts.ts';
import { reconcileDeposits } from './reconcileDeposits.ts';
import { reconcilePayouts, type PayoutDependencies } from './reconcilePayouts.ts';
import { INVARIANTS_OF_A_PROJECT, reconcileProject, type ReconcileDependencies } from './reconcileProject.ts';
import { readyLogs, type LogDependencies } from './reconcileLogs.ts';
import { reconcileReceipts } from './reconcileReceipts.ts';
import {
  add,
  nothingCompared,
  unproved,
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

export interface ReconcileAllDependencies extends ReconcileDependencies, LogDependencies {
  /** Left out when only books and network are compared; the provider is not asked then. */
  ramp?: PayoutDependencies['ramp'];
}

/**
 * @param deps.isStill true when the caller knows that no call is on its way to the network: unsettled calls
 *   are then compared as not done, instead of being left out
 * @throws NetworkUnavailable when the network does not answer at the start; later missing answers are
 *   reported as not proved
 */
export async function reconcileAll(
  deps: ReconcileAllDependencies,
  onProgress: (done: number) => void = () => {},
): Promise<ReconciliationReport> {
  await deps.network.status();
  const { ofNetwork, counts } = await compareOutside(deps, {}, onProgress);
  add(ofNetwork, await compareDatabase(deps));
  return { ...counts, ...ofNetwork, verdicts: verdictsOf(ofNetwork) };
}

/** The invariants that compareOutside compares, including those of the provider. */
const SHOWN_OUTSIDE: readonly Invariant[] = [...INVARIANTS_OF_A_PROJECT, 'I8', 'I9', 'I12', 'I13'];

/**
 * Compares the database with itself and with the heads of its logs when the network does not answer: on a
 * copy that must not reach the network, or while its node is down.
 * @param because why the network's part is not proved
 */
export async function reconcileWithoutNetwork(
  deps: LogDependencies,
  because: string,
): Promise<Pick<ReconciliationReport, 'verdicts'>> {
  const sum = await compareDatabase(deps);
  add(sum, unproved(SHOWN_OUTSIDE, 'NO_ANSWER', because));
  return { verdicts: verdictsOf(sum) };
}

/**
 * Compares the rows that changed since a snapshot, and the rows that belong to them: every row of the
 * database that contradicts another row now, and the network's and provider's data about the rows. Unchanged
 * data is not compared again.
 * @returns null when the snapshot does not show the changes: everything has to be compared then.
 * @throws NetworkUnavailable
 */
export async function reconcileChanged(
  deps: ReconcileAllDependencies,
  snapshot: Snapshot,
): Promise<ReconciliationReport | null> {
  await deps.network.status();
  const { unlogged, compare } = await readyLogs(deps, snapshot);
  const found = await findChangedContradictions(deps.db, snapshot, CONTRADICTIONS, compare);
  if (found === null) return null;
  const { ofNetwork, counts } = await compareOutside(deps, found.changed);
  add(ofNetwork, unlogged);
  ofNetwork.findings.push(...found.findings);
  return { ...counts, ...ofNetwork, verdicts: verdictsOf(ofNetwork) };
}

/**
 * Compares the database with itself and with the heads of its logs. The process hashes the logs while the
 * database compares the rest.
 */
async function compareDatabase(deps: LogDependencies): Promise<Comparison> {
  const { unlogged, compare } = await readyLogs(deps);
  unlogged.findings.push(...(await findContradictions(deps.db, CONTRADICTIONS, compare)));
  return unlogged;
}

/** Compares with network and provider; an incremental run compares only the changed rows. */
export async function compareOutside(
  deps: ReconcileAllDependencies,
  changed: Partial<ChangedRows> = {},
  onProgress: (done: number) => void = () => {},
) {
  const ofNetwork = nothingCompared();
  const counts = await reconcileProjects(deps, changed.projects, ofNetwork, onProgress);
  const receipts = await reconcileReceipts({ ...deps, ...changed }, (done) =>
    onProgress(counts.projects + done),
  );
  add(ofNetwork, receipts);
  add(ofNetwork, await reconcileDeposits({ ...deps, ...changed }));
  add(ofNetwork, await reconcileAttempts({ ...deps, ...changed }));
  if (deps.ramp) add(ofNetwork, await reconcilePayouts({ ...changed, db: deps.db, ramp: deps.ramp }));
  return {
    ofNetwork,
    counts: { ...counts, receipts: receipts.receipts, unsettledReceipts: receipts.unsettledReceipts },
  };
}

async function reconcileProjects(
  deps: ReconcileAllDependencies,
  changed: ChangedRows['projects'] | undefined,
  sum: Comparison,
  onProgress: (done: number) => void,
): Promise<Pick<ReconciliationReport, 'projects' | 'unsettledProjects'>> {
  const counts = { projects: 0, unsettledProjects: 0 };
  const questions = createQuestions({
    invariants: INVARIANTS_OF_A_PROJECT,
    noun: 'projects',
    concurrency: 1,
  });
  const ids = changed && [...changed.keys()];
  for await (const page of pagesById(projects.id, ids, selectProjects(deps.db))) {
    const all = await questions.askAll(
      page,
      ({ assetId }) => assetId,
      (row) => {
        const fromRecord = changed && (changed.get(row.id) ?? Number.POSITIVE_INFINITY);
        counts.projects += 1;
        onProgress(counts.projects);
        return reconcileProject(
          { ...deps, ...(fromRecord === undefined ? {} : { fromRecord }) },
          { ...row, tokenAddress: row.tokenAddress ?? '' },
        );
      },
    );
    counts.unsettledProjects += all.filter((compared) => compared?.notProved.length !== 0).length;
  }
  add(sum, questions.sum());
  return counts;
}

const selectProjects = (db: Db) => (where: SQL | undefined) =>
  db
    .select()
    .from(projects)
    .where(and(isNotNull(projects.tokenAddress), where));
