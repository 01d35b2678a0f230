/**
 * Submits what a holder signed: intent and signed attempt are committed together before anything is sent, and
 * are then processed like every submission. Only the holder could sign again, so a proved death ends the
 * submission (step.ts).
 */
import { and, eq, ne, or, sql } from 'drizzle-orm';
import type { Clock, IdSource } from '../../lib/clock.ts';
import { lockName } from '../../db/advisoryLock.ts';
import type { Tx } from '../../db/connection.ts';
import { attempts, submissions } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { HolderCall, PreparedTransaction, Refusal } from '../network/port.ts';
import { findOpenAttempts } from './attempts.ts';
import type { TargetType } from './effects.ts';
import { enqueueSubmission } from './enqueue.ts';
import type { Submission } from './settle.ts';
import { lockSubmissions } from './lockSubmissions.ts';
import { insertAttempt } from './signAttempt.ts';

/** A limit far above the fee raises that a stuck transaction needs. */
const MAX_REPLACEMENTS = 10;
const SIGNED = 'input.signed';

/** The refusal of a submission whose signed bytes are dead, and that only its holder could sign again. */
export const NEVER_SIGNED_AGAIN: Refusal = {
  reason: 'EXPIRED',
  message:
    "What the holder signed can't land any more, and only the holder can sign again. Make sure that the wallet has " +
    'not sent it in another way, such as sped up, before you prepare a new act.',
};

/** The error for new bytes of an act whose first bytes can't land any more, by the submission's state. */
const OVER = {
  SUCCEEDED: 'It has landed already, in another transaction.',
  REFUSED:
    'What was signed for it before is over, and this has not landed. Make sure that the wallet has not sent it in yet ' +
    'another way before you prepare a new act.',
  NEEDS_REVIEW: 'Whether it landed in another transaction is for an operator to decide.',
  PENDING:
    'What was signed for it before is about to be given up. Submit this once more in a moment: should it have landed, ' +
    'it is done.',
} as const satisfies Record<Submission['state'], string>;

interface Dependencies {
  clock: Clock;
  ids: IdSource;
}

/**
 * Writes intent and attempt in the transaction of their target.
 * @returns the submission's id
 * @throws DomainError CONFLICT when another submission has used the slot, or has the same act under way
 */
export async function enqueueSigned(
  tx: Tx,
  deps: Dependencies,
  intent: { targetType: TargetType; targetId: string; call: HolderCall },
  signed: PreparedTransaction,
): Promise<string> {
  await requireFirst(tx, intent);
  await requireFreeSlot(tx, signed);
  const submissionId = await enqueueSubmission(tx, deps, { ...intent, signer: 'HOLDER' });
  await insertAttempt(tx, deps, submissionId, signed, null);
  return submissionId;
}

/**
 * Adds the same call, signed again in its slot by a wallet that raises its fee. At most one of both lands.
 * Known bytes change nothing. The caller notifies the worker.
 * @throws DomainError CONFLICT when the submission is settled, or the bytes use another slot: both could land
 */
export async function addReplacement(
  tx: Tx,
  deps: Dependencies,
  submissionId: string,
  signed: PreparedTransaction,
): Promise<void> {
  const state = (await lockSubmissions(tx, [submissionId])).get(submissionId)?.state;
  const [known] = await tx
    .select({ hash: attempts.hash })
    .from(attempts)
    .where(and(eq(attempts.submissionId, submissionId), eq(attempts.hash, signed.hash)));
  if (known) return;
  const open = await findOpenAttempts(tx, submissionId);
  const latest = open.at(-1);
  if (state !== 'PENDING' || latest === undefined) {
    throw new DomainError('CONFLICT', OVER[state ?? 'PENDING'], { field: SIGNED });
  }
  const isSameSlot =
    signed.sequence !== null && signed.source === latest.source && signed.sequence === latest.sequence;
  if (!isSameSlot || open.length > MAX_REPLACEMENTS) {
    throw new DomainError(
      'CONFLICT',
      `Transaction ${latest.hash} of the same act can still land, so another one is not sent: both could. Only the ` +
        'same act with the same sequence (nonce) at a higher fee may replace it, up to ' +
        `${MAX_REPLACEMENTS} times.`,
      { field: SIGNED, txHash: latest.hash },
    );
  }
  await insertAttempt(tx, deps, submissionId, signed, latest.hash);
  // Due at once: the backoff of a stuck submission may have grown to a quarter of an hour.
  await tx
    .update(submissions)
    .set({ dueAt: sql`now()`, fruitlessSteps: 0, failedSteps: 0, stateReason: null })
    .where(eq(submissions.id, submissionId));
}

/** Refuses a second act of the same kind for one target. */
async function requireFirst(tx: Tx, intent: { targetId: string; call: HolderCall }): Promise<void> {
  const { targetId, call } = intent;
  const ofKind = and(eq(submissions.targetId, targetId), eq(submissions.kind, call.kind));
  const [other] = await tx
    .select({ state: submissions.state })
    .from(submissions)
    .where(and(ofKind, ne(submissions.state, 'REFUSED')))
    .limit(1);
  if (other)
    throw new DomainError('CONFLICT', `The same was signed and submitted before: it is ${other.state}.`, {
      field: SIGNED,
    });
}

/**
 * Unique keys of the database enforce the same, but their errors don't say what to do. The lock makes the
 * second of two acts in one slot see the first.
 */
async function requireFreeSlot(tx: Tx, signed: PreparedTransaction): Promise<void> {
  await lockName(
    tx,
    signed.sequence === null ? `act:${signed.hash}` : `slot:${signed.source}:${signed.sequence}`,
  );
  const inSlot =
    signed.sequence === null
      ? sql`false`
      : and(
          eq(attempts.source, signed.source),
          eq(attempts.sequence, signed.sequence),
          ne(attempts.state, 'DEAD'),
        );
  const [other] = await tx
    .select({ hash: attempts.hash })
    .from(attempts)
    .where(or(eq(attempts.hash, signed.hash), inSlot))
    .orderBy(sql`${attempts.hash} <> ${signed.hash}`)
    .limit(1);
  if (!other) return;
  throw new DomainError(
    'CONFLICT',
    other.hash === signed.hash ? sameBytes(signed) : usedSlot(signed, other),
    { field: SIGNED, txHash: other.hash },
  );
}

/**
 * Another caller who knows a wallet's transaction may have prepared the same contents, and submitted it
 * first.
 */
function sameBytes({ hash }: PreparedTransaction): string {
  return (
    `Transaction ${hash} was submitted before, for another act with the same contents: it counts for that one alone. Look ` +
    'whether it has landed, and sign another one only to do it twice.'
  );
}

function usedSlot({ sequence, source }: PreparedTransaction, other: { hash: string }): string {
  return (
    `Transaction ${other.hash} of another act has the sequence (nonce) ${sequence} of ${source}: sign with ` +
    'the next one, or prepare a new act where the sequence is part of what was prepared.'
  );
}
