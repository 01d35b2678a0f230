/**
 * Signs calls and commits the signed bytes, so that only transactions known to the database are ever sent. One
 * transaction of the database signs many calls.
 */
import type { Tx } from '../../db/connection.ts';
import { insertRows } from '../../db/manyRows.ts';
import { attempts } from '../../db/tables/index.ts';
import type { Draft, PreparedTransaction, SequenceSlot } from '../network/port.ts';
import { readCurrentAttempts, readLastNumber, type Attempt, type CurrentAttempts } from './attempts.ts';
import type { Intent } from './effects.ts';
import { readSequences, type Sequences } from './knownHistory.ts';
import { lockSubmissions, type SkipLocked } from './lockSubmissions.ts';
import { maySign } from './rules.ts';
import { takeSlots } from './sequenceSlots.ts';
import type { Submission } from './settle.ts';
import type { SubmissionDependencies } from './submission.ts';

export interface SigningRequest {
  intent: Intent;
  draft: Draft;
}

/**
 * The open attempts of the submission: the one committed here, or those that another instance committed
 * meanwhile; none when the submission is no longer pending. `no-slot` when no slot is free; `locked` when
 * another transaction has locked the submission, and SkipLocked was given.
 */
export type Signed = Attempt[] | 'no-slot' | 'locked';

/** @throws SequenceMismatch, NetworkUnavailable; nothing was signed */
export async function signAttempts(
  deps: SubmissionDependencies,
  requests: readonly SigningRequest[],
  lock?: SkipLocked,
): Promise<Signed[]> {
  const sequences = deps.network.signingOrder === null ? null : await readSequences(deps);
  const signed = await deps.db.transaction(async (tx) => {
    const held = await lockAll(tx, requests, lock);
    const toSign = requests.filter(({ intent }) => {
      const locked = held.get(intent.submissionId);
      return locked !== undefined && maySign(locked.state, locked.open);
    });
    const added = await addAttempts(tx, deps, toSign, { held, sequences });
    return requests.map(({ intent: { submissionId } }): Signed => {
      const locked = held.get(submissionId);
      if (locked === undefined) return lock ? 'locked' : [];
      // Another instance was faster: its bytes are sent.
      if (!maySign(locked.state, locked.open)) return locked.state === 'PENDING' ? locked.open : [];
      const attempt = added.get(submissionId);
      return attempt ? [attempt] : 'no-slot';
    });
  });
  await deps.crashPoint('attempt-committed');
  return signed;
}

interface Locked extends CurrentAttempts {
  state: Submission['state'];
}

/** @returns the submissions that could be locked, by id */
async function lockAll(
  tx: Tx,
  requests: readonly SigningRequest[],
  lock: SkipLocked | undefined,
): Promise<Map<string, Locked>> {
  const ids = requests.map(({ intent }) => intent.submissionId);
  const locking = lockSubmissions(tx, ids, lock);
  // Sent second, so that the read runs once the rows are locked: another instance may have signed before.
  const [submissions, currentOf] = await Promise.all([locking, readCurrentAttempts(tx, ids)]);
  return new Map([...submissions].map(([id, { state }]) => [id, { state, ...currentOf(id) }]));
}

/**
 * The caller holds the submissions' row locks.
 * @returns attempts by submission; none where no slot was free
 */
async function addAttempts(
  tx: Tx,
  deps: SubmissionDependencies,
  requests: readonly SigningRequest[],
  { held, sequences }: { held: ReadonlyMap<string, Locked>; sequences: Sequences | null },
): Promise<ReadonlyMap<string, Attempt>> {
  if (requests.length === 0) return new Map();
  const order = deps.network.signingOrder;
  const numberOf = (submissionId: string) => (held.get(submissionId)?.lastNumber ?? 0) + 1;
  // Ordered by id, which begins with a time: the order of arrival differs between copies of the database.
  const inOrder = requests.toSorted((one, other) => compareIds(one.intent, other.intent));
  const names = inOrder.map(({ intent: { submissionId } }) => `${submissionId} ${numberOf(submissionId)}`);
  const slots: (SequenceSlot | null)[] =
    order && sequences
      ? await takeSlots(tx, order, names, sequences.latest, sequences.waiting)
      : names.map(() => null);
  const signing = inOrder.slice(0, slots.length);
  if (signing.length === 0) return new Map();
  const createdAt = deps.clock.now();
  const fresh = await Promise.all(
    signing.map(async ({ intent: { submissionId }, draft }, at) => {
      const prepared = await draft.sign(slots[at] ?? null);
      return freshAttempt(prepared, {
        submissionId,
        number: numberOf(submissionId),
        createdAt,
      });
    }),
  );
  await deps.crashPoint('attempt-signed');
  await insertRows(tx, attempts, fresh);
  return new Map(fresh.map((attempt) => [attempt.submissionId, attempt]));
}

function compareIds(one: Pick<Intent, 'submissionId'>, other: Pick<Intent, 'submissionId'>): number {
  return one.submissionId < other.submissionId ? -1 : 1;
}

function freshAttempt(
  { hash, signedBytes, source, sequence, validUntil, preparedAtLedger }: PreparedTransaction,
  of: Pick<Attempt, 'submissionId' | 'number' | 'createdAt'> & { replaces?: string | null },
): Attempt {
  return {
    hash,
    signedBytes,
    source,
    sequence,
    validUntil,
    preparedAtLedger,
    state: 'OPEN',
    replaces: null,
    evidence: null,
    ledger: null,
    cause: null,
    decidedAt: null,
    ...of,
  };
}

/**
 * Signs the call again in its slot at a higher fee, when the network reports it as stuck.
 * @returns the new attempt, or null when there is nothing to replace
 */
export async function replaceAttempt(deps: SubmissionDependencies, latest: Attempt): Promise<Attempt | null> {
  const prepared = await deps.network.replace(latest);
  if (prepared === null) return null;
  return deps.db.transaction(async (tx) => {
    const { submissionId } = latest;
    const locked = (await lockSubmissions(tx, [submissionId])).get(submissionId);
    if (locked?.state !== 'PENDING') return null;
    // The database refuses it if another instance has replaced or decided `latest` meanwhile.
    return insertAttempt(tx, deps, submissionId, prepared, latest.hash);
  });
}

/**
 * The caller holds the submission's row lock, or has just inserted the row.
 * @param replaces null for a submission's first attempt
 */
export async function insertAttempt(
  tx: Tx,
  deps: Pick<SubmissionDependencies, 'clock'>,
  submissionId: string,
  prepared: PreparedTransaction,
  replaces: string | null,
): Promise<Attempt> {
  const number = replaces === null ? 1 : (await readLastNumber(tx, submissionId)) + 1;
  const attempt = freshAttempt(prepared, { submissionId, number, replaces, createdAt: deps.clock.now() });
  await tx.insert(attempts).values(attempt);
  return attempt;
}
