/**
 * Makes submissions due again after a step that did not settle them. Steps that end together, for example
 * because they wait for the same ledger, share one statement: each alone would cost a transaction at every
 * look.
 */
import { sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { givenRows, isOneOf } from '../../db/manyRows.ts';
import { isTransient } from '../../db/transientFailures.ts';
import { submissions } from '../../db/tables/index.ts';
import { createBatcher } from '../../lib/batches.ts';
import type { Submission } from './settle.ts';

/** The values that a step leaves in its submission. */
export interface NextStep {
  delayMs: number;
  fruitlessSteps: number;
  failedSteps: number;
  /** Why it is not settled yet: for operators. */
  stateReason: string | null;
}

interface Rescheduled extends NextStep {
  /** As it was when the step began. */
  submission: Submission;
}

/** As many as the steps that can be under way at once. */
const MAX_ITEMS = 512;

export function createRescheduling(
  db: Pick<Db, 'execute'>,
): (submission: Submission, next: NextStep) => Promise<void> {
  const batcher = createBatcher({
    maxItems: MAX_ITEMS,
    async run(items: Rescheduled[]) {
      await rescheduleAll(db, items);
      return items.map(() => undefined);
    },
    dividesOn: (error) => !isTransient(error),
  });
  return (submission, next) => batcher.submit({ submission, ...next });
}

/**
 * A submission that new bytes of its holder have made due meanwhile stays due. A row that another transaction
 * has locked is being settled or leased: it is skipped, and if it is still open, it is due when its lease
 * ends.
 */
async function rescheduleAll(db: Pick<Db, 'execute'>, items: readonly Rescheduled[]): Promise<void> {
  const rows = items.map(({ submission, delayMs, fruitlessSteps, failedSteps, stateReason }) => ({
    id: submission.id,
    fruitless_before: submission.fruitlessSteps,
    failed_before: submission.failedSteps,
    delay_seconds: delayMs / 1000,
    fruitless_steps: fruitlessSteps,
    failed_steps: failedSteps,
    state_reason: stateReason,
  }));
  const ids = items.map(({ submission }) => submission.id);
  await db.execute(sql`${givenRows(
    rows,
    'id uuid, fruitless_before int, failed_before int, delay_seconds float8, fruitless_steps int, failed_steps int, state_reason text',
  )}, free AS MATERIALIZED (
      SELECT id FROM ${submissions} WHERE ${isOneOf(submissions.id, ids)} FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE ${submissions} s SET due_at = now() + make_interval(secs => v.delay_seconds),
      fruitless_steps = v.fruitless_steps, failed_steps = v.failed_steps, state_reason = v.state_reason
    FROM v WHERE s.id = v.id AND s.id = ANY (ARRAY(SELECT id FROM free)) AND s.state = 'PENDING'
      AND (s.fruitless_steps, s.failed_steps) = (v.fruitless_before, v.failed_before)`);
}
