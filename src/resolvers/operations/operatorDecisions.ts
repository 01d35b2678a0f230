/**
 * Operators' decisions about submissions and halts: who decided, and why.
 */
import { asc } from 'drizzle-orm';
import { isOneOf } from '../../db/manyRows.ts';
import { operatorDecisions } from '../../db/tables/index.ts';
import { keepDecision } from '../../ledger/submission/halts.ts';
import type { Confirm } from '../../ledger/submission/settle.ts';
import { groupBy } from '../../lib/groupBy.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';
import { basisOfHalt, basisOfReview } from './decisionBasis.ts';
import { requireSeen, type SeenHalt, type SeenReview } from './reviewVersion.ts';

export type OperatorDecision = typeof operatorDecisions.$inferSelect;

/**
 * @param seen what the decision is based on
 * @returns a function that writes the decision, with its approval, in the transaction of the effect and
 *   before it
 */
export function recordDecision(
  { ids, clock }: Needs<'ids' | 'clock'>,
  decision: Pick<OperatorDecision, 'submissionId' | 'decision' | 'decidedBy' | 'reason'>,
  grant: Grant | undefined,
  seen: SeenReview | SeenHalt,
): Confirm {
  return async (tx) => {
    await grant?.confirm(tx);
    const { submissionId } = decision;
    const { basis, version, halted } =
      submissionId === null ? await basisOfHalt(tx) : await basisOfReview(tx, submissionId);
    requireSeen(seen, version);
    const approvalRequestId = grant?.requestId ?? null;
    const id = ids.next();
    await tx
      .insert(operatorDecisions)
      .values({ ...decision, basis, approvalRequestId, id, decidedAt: clock.now() });
    if (halted) await keepDecision(tx, halted, id);
  };
}

/** Decisions about each submission, oldest first. */
export async function readDecisions(
  { db }: Needs<'db'>,
  submissionIds: readonly string[],
): Promise<ReadonlyMap<string, OperatorDecision[]>> {
  const found = await db
    .select()
    .from(operatorDecisions)
    .where(isOneOf(operatorDecisions.submissionId, submissionIds))
    .orderBy(asc(operatorDecisions.decidedAt), asc(operatorDecisions.id));
  return groupBy(found, ({ submissionId }) => submissionId ?? '');
}
