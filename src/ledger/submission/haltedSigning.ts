/**
 * When the network has seen transactions of a signing account that this database knows nothing of, signing stops: a
 * database that was restored from an old copy would do again what was done since.
 *
 *   signing ──network is ahead──▶ halted ──nothing under way, books and network agree──▶ signing, from the network's
 *                                   │ ▲                                                  sequence on
 *                                   └─┘ they disagree, or something is still under way: looked at again later
 *
 * Agreement of books and network proves that what the others sent left the platform's tokens alone: a pause, a role,
 * a fee. Disagreement is for people.
 */
import { and, eq, inArray, isNotNull, lte, sql } from 'drizzle-orm';
import { attempts, signingAccounts } from '../../db/schema/index.ts';
import { messageOf } from '../../errors.ts';
import type { SequenceAhead } from './slots.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';

/** An audit reads every token. */
const REVIEW_INTERVAL_SECONDS = 30;
/** More disagreements than these say nothing new. */
const MAX_SHOWN = 5;

/** Kept until a review ends it, for all instances. */
export async function haltSigning(deps: SubmissionDependencies, ahead: SequenceAhead): Promise<void> {
  const halted = await deps.db
    .update(signingAccounts)
    .set({ haltedBecause: ahead.message, reviewDueAt: sql`now()` })
    .where(and(eq(signingAccounts.address, ahead.address), sql`${signingAccounts.haltedBecause} IS NULL`))
    .returning();
  if (halted.length > 0) deps.log.error({ address: ahead.address }, `signing stops: ${ahead.message}`);
}

/** Looks whether signing may go on, if it is halted and nobody looked just now. Never rejects. */
export async function reviewHaltedSigning(deps: SubmissionDependencies): Promise<void> {
  try {
    const due = await deps.db
      .update(signingAccounts)
      .set({ reviewDueAt: sql`now() + make_interval(secs => ${REVIEW_INTERVAL_SECONDS})` })
      .where(and(isNotNull(signingAccounts.haltedBecause), lte(signingAccounts.reviewDueAt, sql`now()`)))
      .returning();
    if (due.length > 0)
      await review(
        deps,
        due.map((account) => account.address),
      );
  } catch (error) {
    // Unknown, so nothing changes.
    deps.log.warn(
      { error: messageOf(error) },
      'signing stays halted: books and network could not be compared',
    );
  }
}

async function review(deps: SubmissionDependencies, addresses: readonly string[]): Promise<void> {
  const order = deps.network.signingOrder;
  const accounts = [...(order?.accounts ?? [])];
  const underWay = await deps.db.$count(
    attempts,
    and(inArray(attempts.source, accounts), eq(attempts.state, 'OPEN')),
  );
  if (underWay > 0) {
    // Soon: what is under way can't be told from what is missing, and it settles by itself.
    await deps.db
      .update(signingAccounts)
      .set({ reviewDueAt: sql`now() + interval '1 second'` })
      .where(inArray(signingAccounts.address, [...addresses]));
    return;
  }
  // Read before the comparison: whatever comes after it halts again.
  const expected = await deps.network.nextSequences();
  const findings = await deps.reconcile();
  if (findings.length > 0) {
    deps.log.error(
      { findings: findings.slice(0, MAX_SHOWN), total: findings.length },
      'signing stays halted: books and network disagree',
    );
    return;
  }
  for (const address of addresses) await adopt(deps, address, expected.get(address) ?? 0n);
  deps.subjects.ring(NEW_SUBMISSION);
}

async function adopt(deps: SubmissionDependencies, address: string, expected: bigint): Promise<void> {
  await deps.db
    .update(signingAccounts)
    .set({
      nextSequence: sql`greatest(${signingAccounts.nextSequence}, ${expected}::bigint)`,
      haltedBecause: null,
      reviewDueAt: null,
    })
    .where(eq(signingAccounts.address, address));
  deps.log.warn(
    { address, expected: String(expected) },
    'signing goes on: the key was used elsewhere, but books and network agree',
  );
}
