/**
 * When the network has seen transactions of a signing account that this database knows nothing of, signing stops: a
 * database that was restored from an old copy would do again what was done since.
 *
 *   signing ──network is ahead──▶ halted ──nothing under way, all final, books and network agree──▶ signing, from the
 *                                   │ ▲  └─an operator says so─────────────────────────────────────▶ network's sequence
 *                                   └─┘ they disagree, or something is still under way: looked at again later
 *
 * Agreement of books and network proves that what the others sent left the platform's tokens alone: a pause, a role,
 * a fee. Disagreement is for people.
 */
import { and, eq, inArray, isNotNull, isNull, lte, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { attempts, signingAccounts } from '../../db/schema/index.ts';
import { DomainError, messageOf } from '../../errors.ts';
import type { NextSequences } from '../network/port.ts';
import { takesUpSlot, type SequenceAhead } from './slots.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';

/** An audit reads every token. */
const REVIEW_INTERVAL_SECONDS = 30;
/** What is under way, or not final yet, is so within moments or minutes. */
const SOON_SECONDS = 2;
/** More disagreements than these say nothing new. */
const MAX_SHOWN = 5;

/** Kept until a review ends it, for all instances. */
export async function haltSigning(
  deps: Pick<SubmissionDependencies, 'log'>,
  db: Pick<Db, 'update'>,
  { address, message }: Pick<SequenceAhead, 'address' | 'message'>,
): Promise<void> {
  const halted = await db
    .update(signingAccounts)
    .set({ haltedBecause: message, reviewDueAt: sql`now()` })
    .where(and(eq(signingAccounts.address, address), isNull(signingAccounts.haltedBecause)))
    .returning();
  if (halted.length > 0) deps.log.error({ address }, `signing stops: ${message}`);
}

/** Looks whether signing may go on, if it is halted and nobody looked just now. Never rejects. */
export async function reviewHaltedSigning(deps: SubmissionDependencies): Promise<void> {
  try {
    const due = await deps.db
      .update(signingAccounts)
      .set({ reviewDueAt: sql`now() + make_interval(secs => ${REVIEW_INTERVAL_SECONDS})` })
      .where(and(isNotNull(signingAccounts.haltedBecause), lte(signingAccounts.reviewDueAt, sql`now()`)))
      .returning();
    if (due.length > 0) await review(deps);
  } catch (error) {
    // Unknown, so nothing changes.
    deps.log.warn(
      { error: messageOf(error) },
      'signing stays halted: books and network could not be compared',
    );
  }
}

async function review(deps: SubmissionDependencies): Promise<void> {
  const accounts = [...(deps.network.signingOrder?.accounts ?? [])];
  const underWay = await deps.db.$count(attempts, and(inArray(attempts.source, accounts), takesUpSlot));
  // What is under way can't be told from what is missing, and it settles by itself.
  if (underWay > 0) return lookAgainSoon(deps);
  // Read before the comparison: whatever comes after it halts again.
  const [expected, final] = await Promise.all([
    deps.network.nextSequences('latest'),
    deps.network.nextSequences('final'),
  ]);
  // What is not final yet is in nothing that the comparison reads.
  const isFinal = [...expected].every(([address, sequence]) => (final.get(address) ?? -1n) >= sequence);
  if (!isFinal) return lookAgainSoon(deps);
  const findings = await deps.reconcile();
  if (findings.length > 0) {
    deps.log.error(
      { findings: findings.slice(0, MAX_SHOWN), total: findings.length },
      'signing stays halted: books and network disagree',
    );
    return;
  }
  await adoptSequences(deps.db, expected);
  deps.log.warn('signing goes on: the key was used elsewhere, but books and network agree');
  deps.subjects.ring(NEW_SUBMISSION);
}

async function lookAgainSoon(deps: SubmissionDependencies): Promise<void> {
  await deps.db
    .update(signingAccounts)
    .set({ reviewDueAt: sql`now() + make_interval(secs => ${SOON_SECONDS})` })
    .where(isNotNull(signingAccounts.haltedBecause));
}

/** Ends the halt: what the network has seen so far is accounted for. */
async function adoptSequences(db: Db, expected: NextSequences): Promise<void> {
  await db.transaction(async (tx) => {
    for (const [address, sequence] of expected) {
      await tx
        .update(signingAccounts)
        .set({ nextSequence: sql`greatest(${signingAccounts.nextSequence}, ${sequence}::bigint)` })
        .where(eq(signingAccounts.address, address));
    }
    await tx
      .update(signingAccounts)
      .set({ haltedBecause: null, reviewDueAt: null })
      .where(isNotNull(signingAccounts.haltedBecause));
  });
}

/** Why nothing is signed; null when all is well. */
export async function readHalt(db: Pick<Db, 'select'>): Promise<string | null> {
  const [halted] = await db
    .select({ reason: signingAccounts.haltedBecause })
    .from(signingAccounts)
    .where(isNotNull(signingAccounts.haltedBecause))
    .limit(1);
  return halted?.reason ?? null;
}

/**
 * Ends a halt on an operator's word, who has made sure that nothing will be done a second time. What the books have
 * reserved stays reserved; what is pending is signed again.
 * @throws DomainError CONFLICT when signing is not halted; NetworkUnavailable
 */
export async function resumeSigning(deps: SubmissionDependencies): Promise<void> {
  if ((await readHalt(deps.db)) === null) throw new DomainError('CONFLICT', 'Signing is not halted.');
  await adoptSequences(deps.db, await deps.network.nextSequences('latest'));
  deps.log.warn('signing goes on by the word of an operator');
  deps.subjects.ring(NEW_SUBMISSION);
}
