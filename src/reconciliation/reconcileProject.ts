/**
 * Compares one project's books and stored records with its token on the network.
 */
import { fillToken, HistoryRewritten, HistoryUnaccepted, type FeedDependencies } from '../feed/fillToken.ts';
import type { Db } from '../db/connection.ts';
import type { ProjectBalances } from '../ledger/books/readBalances.ts';
import { NetworkRefusal, type CarbonTotals, type LedgerNetwork } from '../ledger/network/port.ts';
import { compareRecords, INVARIANTS_OF_RECORDS, readClaimedUpTo } from './compareRecords.ts';
import { compareSums, readBooks, readSums } from './compareSums.ts';
import { orNotAnswered } from './questions.ts';
import {
  add,
  broken,
  nothingCompared,
  verdictsOf,
  type Comparison,
  type Invariant,
  type Verdict,
} from './verdicts.ts';

export interface Reconciliation extends Comparison {
  books: ProjectBalances;
  /** Null when the token is missing. */
  network: (CarbonTotals & { custodyBalance: bigint }) | null;
  /** Unsettled network calls of this token. */
  unsettled: number;
  /** One per invariant that is compared for a project. */
  verdicts: Verdict[];
}

export interface ReconciledProject {
  id: string;
  tokenAddress: string;
  assetId: string;
}

export interface ReconcileDependencies {
  db: Db;
  network: LedgerNetwork;
  feed: FeedDependencies;
  /** No call is on its way to the network, so unsettled calls have not happened. */
  isStill?: boolean;
  /** How many of each token's newest records are read again; all by default. */
  maxRecords?: number;
  /** In an incremental run, the token's records before this index were compared earlier. */
  fromRecord?: number;
}

export const INVARIANTS_OF_A_PROJECT = ['I2', 'I3', 'I4', 'I10'] as const satisfies Invariant[];

/**
 * Compares as much as possible while the platform works, and names the rest as not proved.
 * @throws NetworkUnavailable when there is no answer about the token's sums
 */
export async function reconcileProject(
  deps: ReconcileDependencies,
  project: ReconciledProject,
): Promise<Reconciliation> {
  try {
    return await compareWithToken(deps, project);
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw error;
    const { balances, underWay } = await readBooks(deps.db, project.id);
    const message = `${project.assetId}: token ${project.tokenAddress} can't be read: ${error.message} (${error.reason})`;
    return summarize({
      books: balances,
      network: null,
      unsettled: underWay.calls,
      ...broken('I3', message),
    });
  }
}

async function compareWithToken(
  deps: ReconcileDependencies,
  project: ReconciledProject,
): Promise<Reconciliation> {
  const compared = nothingCompared();
  const sums = await readSums(deps, project);
  add(compared, compareSums(project, sums));
  add(compared, await orNotAnswered(INVARIANTS_OF_RECORDS, project.assetId, compareHistory(deps, project)));
  const { balances: books, underWay } = sums.after;
  return summarize({
    books,
    network: sums.network,
    unsettled: underWay.calls,
    ...compared,
  });
}

async function compareHistory(deps: ReconcileDependencies, project: ReconciledProject): Promise<Comparison> {
  // Read before the network: every record that is claimed by now must be there.
  const claimedUpTo = await readClaimedUpTo(deps.db, project);
  try {
    const totals = await fillToken(deps.feed, { projectId: project.id, tokenAddress: project.tokenAddress });
    return await compareRecords(deps, project, { totals, claimedUpTo });
  } catch (error) {
    if (error instanceof HistoryUnaccepted) {
      // This history is accepted when nothing is found, so records that wait for the acceptance to be stored
      // must not count.
      const { totals, stored } = error;
      const fromRecord = Math.min(stored - 1, deps.fromRecord ?? 0);
      return compareRecords({ ...deps, fromRecord }, project, { totals, claimedUpTo, unstoredFrom: stored });
    }
    if (!(error instanceof HistoryRewritten)) throw error;
    // The stored record has not changed, so an incremental run would leave out the records that contradict
    // it.
    const fromRecord = Math.min(error.index, deps.fromRecord ?? 0);
    return compareRecords({ ...deps, fromRecord }, project, { totals: error.totals, claimedUpTo });
  }
}

function summarize(reconciliation: Omit<Reconciliation, 'verdicts'>): Reconciliation {
  return { ...reconciliation, verdicts: verdictsOf(reconciliation, INVARIANTS_OF_A_PROJECT) };
}
