/**
 * Checks whether everything that the signing accounts have sent is known: to this database, or at least to
 * the reads by which an operator decides.
 */
import { and, eq, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { signingAccounts } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { NetworkUnavailable, type NextSequences, type SigningOrder } from '../network/port.ts';
import { MAY_LAND_UNSEEN } from '../network/seenLedgers.ts';
import { SequenceBehind, SequenceMismatch } from './sequenceMismatch.ts';
import { readSigningState, requireKnownSequences } from './sequenceSlots.ts';
import type { SubmissionDependencies } from './submission.ts';

/**
 * Halts signing on all instances until a review ends the halt. The newest reason is stored, so that a running
 * review does not end a halt whose reason it has not read.
 */
export async function haltSigning(
  deps: Pick<SubmissionDependencies, 'log'>,
  db: Pick<Db, 'update'>,
  { address, message }: Pick<SequenceMismatch, 'address' | 'message'>,
): Promise<void> {
  const halted = await db
    .update(signingAccounts)
    .set({ haltedBecause: message, reviewDueAt: sql`now()` })
    .where(
      and(
        eq(signingAccounts.address, address),
        sql`${signingAccounts.haltedBecause} IS DISTINCT FROM ${message}`,
      ),
    )
    .returning();
  if (halted.length > 0) deps.log.error({ address }, `signing stops: ${message}`);
}

/**
 * Halts all accounts because the chain was reorganised below a final ledger, until a review. An account that
 * has not signed for this database yet gets a row, because a halt needs one.
 * @throws NetworkUnavailable
 */
export async function haltOnReorg(
  deps: Pick<SubmissionDependencies, 'log' | 'db' | 'network'>,
  message: string,
): Promise<void> {
  const expected = await deps.network.nextSequences('latest');
  if (expected.size === 0) return;
  const halt = { haltedBecause: message, reviewDueAt: sql`now()` };
  await deps.db
    .insert(signingAccounts)
    .values([...expected].map(([address, nextSequence]) => ({ address, nextSequence, ...halt })))
    .onConflictDoNothing();
  for (const address of expected.keys()) await haltSigning(deps, deps.db, { address, message });
}

/**
 * Proves that a landed transaction is gone. A node that is merely behind also calls its sequence unused; only
 * a node that has the ledger in which the transaction landed, and says the same of its final state, is proof.
 * @throws NetworkUnavailable when it is not proved
 */
export async function confirmMismatch(
  { network }: Pick<SubmissionDependencies, 'network'>,
  mismatch: SequenceMismatch,
): Promise<void> {
  if (!(mismatch instanceof SequenceBehind)) return;
  const { address, sequence, ledger } = mismatch;
  // The status is read first: the sequences then come from a node that has its ledger, or have no answer.
  const status = await network.status();
  const final = await network.nextSequences('final');
  const isUnused = (final.get(address) ?? 0n) <= sequence;
  if (status.ledger >= ledger && isUnused) return;
  throw new NetworkUnavailable(
    `The node is at ledger ${status.ledger} and calls sequence ${sequence} of ${address} unused, which landed in ledger ` +
      `${ledger}: it is behind, so nothing is signed until it has caught up.`,
  );
}

/**
 * Called before reserved value is returned: a transaction that this database does not know may have done what
 * the value is reserved for, and is found only when it is final. Halts signing if such a transaction may
 * exist.
 * @throws DomainError CONFLICT when something unknown is not final yet; NetworkUnavailable
 */
export async function requireKnownHistory(deps: SubmissionDependencies): Promise<void> {
  const order = deps.network.signingOrder;
  if (order === null) return;
  // The sequences are read first, because the network's answer may reveal that the database is a copy.
  const sequences = await readSequences(deps);
  if ((await readSigningState(deps.db, order)).mayLandUnseen) {
    throw new DomainError('CONFLICT', `It can't be decided yet: ${MAY_LAND_UNSEEN}.`);
  }
  if (await isKnown(deps, order, sequences)) return;
  await requireFinal(deps, sequences.waiting);
}

/**
 * Halts signing if an account has sent transactions that this database does not know, or if landed ones are
 * gone; stores the sequences of a new database.
 * @returns whether everything is known, and signing is not halted
 * @throws NetworkUnavailable
 */
export async function checkHistory(deps: SubmissionDependencies, order: SigningOrder): Promise<boolean> {
  return isKnown(deps, order, await readSequences(deps));
}

export interface Sequences {
  latest: NextSequences;
  /**
   * `latest`, or higher where transactions wait at the node. These sequences must be final before any is stored
   * as known: a false one, from a node of another network, never is final. Stored sequences only go up, so
   * below a false one no transaction sent elsewhere would be noticed.
   */
  waiting: NextSequences;
}

/** @throws NetworkUnavailable */
export async function readSequences({
  network,
}: Pick<SubmissionDependencies, 'network'>): Promise<Sequences> {
  const isOne = network.signingOrder?.landsUnseenForSeconds !== undefined;
  const [latest, waiting] = await Promise.all([
    network.nextSequences('latest'),
    isOne ? null : network.nextSequences('waiting'),
  ]);
  return { latest, waiting: waiting === null ? latest : highestOf(latest, waiting) };
}

async function isKnown(
  deps: SubmissionDependencies,
  order: SigningOrder,
  { latest, waiting }: Sequences,
): Promise<boolean> {
  try {
    return await deps.db.transaction((tx) => requireKnownSequences(tx, order, latest, waiting));
  } catch (error) {
    if (!(error instanceof SequenceMismatch)) throw error;
    await haltOnMismatch(deps, error);
    return false;
  }
}

/** @throws NetworkUnavailable when the mismatch is not proved */
export async function haltOnMismatch(
  deps: SubmissionDependencies,
  mismatch: SequenceMismatch,
): Promise<void> {
  await confirmMismatch(deps, mismatch);
  await haltSigning(deps, deps.db, mismatch);
}

function highestOf(latest: NextSequences, waiting: NextSequences): NextSequences {
  const highest = new Map(waiting);
  for (const [address, sequence] of latest) {
    if (sequence > (highest.get(address) ?? -1n)) highest.set(address, sequence);
  }
  return highest;
}

/**
 * @param sent next sequences, after what waits at the node
 * @throws DomainError CONFLICT, NetworkUnavailable
 */
export async function requireFinal(
  { network }: Pick<SubmissionDependencies, 'network'>,
  sent: NextSequences,
): Promise<void> {
  const final = await network.nextSequences('final');
  for (const [address, sequence] of sent) {
    const finalSequence = final.get(address) ?? 0n;
    if (finalSequence >= sequence) continue;
    throw new DomainError(
      'CONFLICT',
      `What ${address} has sent is not final yet (sequence ${finalSequence} of ${sequence}), and what it did shows only ` +
        'then. Try again when it is; what never lands has to be replaced at the node.',
    );
  }
}
