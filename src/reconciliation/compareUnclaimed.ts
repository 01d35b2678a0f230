/**
 * Checks custody's records that no retirement claims: their burns are landed but not settled, or unknown to
 * this database.
 */
import { sql } from 'drizzle-orm';
import type { RetirementRecord } from '../ledger/network/port.ts';
import type { ReconcileDependencies, ReconciledProject } from './reconcileProject.ts';
import { add, broken, nothingCompared, unproved, type Comparison } from './verdicts.ts';

export async function compareUnclaimed(
  deps: ReconcileDependencies,
  project: ReconciledProject,
  records: readonly RetirementRecord[],
): Promise<Comparison> {
  const compared = nothingCompared();
  if (records.length === 0) return compared;
  for (const { index, places, pending } of await readPlaces(deps, project, records)) {
    const message = `${project.assetId}: custody's retirement record ${index}`;
    // As many records may belong to pending retirements as retirements with the same content exist.
    if (pending === null || places > pending.count || deps.isStill) {
      add(compared, broken('I4', `${message} belongs to no retirement of this platform`));
    } else {
      const obstacle = pending.isReviewed ? 'UNDER_REVIEW' : 'UNDER_WAY';
      const reason = `looks like that of a retirement that is not settled, such as ${pending.id}`;
      add(compared, unproved(['I4'], obstacle, `${message} ${reason}`));
    }
  }
  return compared;
}

interface Place {
  index: number;
  /** The record's rank among the records with the same content, from 1. */
  places: number;
  /** The unsettled retirements with the same content; null when there are none. */
  pending: { id: string; count: number; isReviewed: boolean } | null;
}

/**
 * Asks in one statement: a retirement that is settled meanwhile would otherwise be neither unclaimed nor
 * pending.
 */
async function readPlaces(
  { db }: ReconcileDependencies,
  { id }: ReconciledProject,
  records: readonly RetirementRecord[],
): Promise<Place[]> {
  const listed = JSON.stringify(
    records.map(({ index, amount, beneficiary, note }) => ({
      index,
      amount: amount.toString(),
      beneficiary,
      note,
    })),
  );
  const rows = await db.execute<{ index: number; places: number; pending: Place['pending'] }>(sql`
    SELECT u.index, (row_number() OVER (PARTITION BY u.amount, u.beneficiary, u.note ORDER BY u.index))::int AS places,
      (SELECT jsonb_build_object('id', min(r.id::text), 'count', count(*), 'isReviewed', bool_or(r.state = 'NEEDS_REVIEW'))
        FROM retirements r
        WHERE r.project_id = ${id} AND r.state IN ('PENDING', 'NEEDS_REVIEW')
          AND r.amount_tonnes * 10::numeric ^ 18 = u.amount AND r.beneficiary = u.beneficiary AND r.note = u.note
        HAVING count(*) > 0) AS pending
    FROM jsonb_to_recordset(${listed}::text::jsonb) AS u (index int, amount numeric, beneficiary text, note text)
    WHERE NOT EXISTS (SELECT 1 FROM retirements r WHERE r.project_id = ${id} AND r.record_index = u.index)
    ORDER BY u.index`);
  return [...rows];
}
