/**
 * Operators' decisions about submissions and halts: who decided, and why.
 */
import { asc } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { isOneOf } from '../../db/manyRows.ts';
import { operatorDecisions } from '../../db/tables/index.ts';
import { keepDecision } from '../../ledger/submission/halts.ts';
import type { Confirm } from '../../ledger/submission/settle.ts';
import { groupBy } from '../../lib/groupBy.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';
import { basisOfHalt, basisOfReview, requireSeen, type SeenHalt, type SeenReview } from './reviewVersion.ts';

export type OperatorDecision = typeof operatorDecisions.$inferSelect;

/**
 * Compares what the decision is based on before its operation asks the network, whose answer would refuse the
 * decision for another reason.
 * @param seen what the decision is based on
 * @returns a function that compares it again, and writes the decision with its approval, in the transaction
 *   of the effect and before it
 * @throws DomainError NOT_FOUND, CONFLICT
 */
export async function prepareDecision(
  { ids, clock, submission }: Needs<'ids' | 'clock' | 'submission'>,
  decision: Pick<OperatorDecision, 'submissionId' | 'decision' | 'decidedBy' | 'reason'>,
  grant: Grant | undefined,
  seen: SeenReview | SeenHalt,
): Promise<Confirm> {
  const { submissionId } = decision;
  const readSeen = async (tx: Tx) => {
    const found = submissionId === null ? await basisOfHalt(tx) : await basisOfReview(tx, submissionId);
    requireSeen(seen, found.version);
    return found;
  };
  await submission.db.transaction(readSeen);
  return async (tx) => {
    await grant?.confirm(tx);
    const { basis, halted } = await readSeen(tx);
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
