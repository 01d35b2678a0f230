/**
 * Giving away slots: which account signs next, and with which number.
 *
 * The network says which sequence it expects, the database which ones it has given away; a slot is the smallest
 * sequence that the network has not used and no live attempt holds. So a sequence that came back (its attempt died
 * without landing) is the next one given away, and no gap stays open in front of what waits behind it.
 */
import { and, eq, gte, inArray, isNull, ne, or, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { attempts, signingAccounts, submissions } from '../../db/schema/index.ts';
import type { Address, NextSequences, SigningOrder, Slot } from '../network/port.ts';

/**
 * The network has seen transactions of a signing account that this database knows nothing of: someone else uses its
 * key, or the database was restored from a backup. Then what looks undone may have been done.
 */
export class SequenceAhead extends Error {
  override readonly name = 'SequenceAhead';
  readonly address: Address;

  constructor(address: Address, message: string) {
    super(`${message}: the key was used elsewhere, or the database is an old copy`);
    this.address = address;
  }
}

/**
 * Takes up a slot: not decided, first in its slot, and not under review. What is under review can't land any more, or it
 * could be decided; it must not keep everything behind it waiting for an operator.
 */
export const takesUpSlot = and(
  eq(attempts.state, 'OPEN'),
  isNull(attempts.outbids),
  sql`NOT EXISTS (SELECT 1 FROM ${submissions} WHERE ${submissions.id} = ${attempts.submissionId}
    AND ${submissions.state} = 'NEEDS_REVIEW')`,
);

export interface SigningState {
  /** What one account's history hides may concern any call: so nothing is signed with the others either. */
  isHalted: boolean;
  /** How many more attempts could be signed at this moment. */
  freeSlots: number;
}

export async function readSigningState(db: Pick<Db, 'select'>, order: SigningOrder): Promise<SigningState> {
  const [row] = await db
    .select({
      open: sql<number>`count(*) FILTER (WHERE ${inArray(attempts.source, [...order.accounts])})::integer`,
      isHalted: sql<boolean>`EXISTS (SELECT 1 FROM ${signingAccounts}
        WHERE ${signingAccounts.haltedBecause} IS NOT NULL)`,
    })
    .from(attempts)
    .where(takesUpSlot);
  if (!row) throw new Error('a count has no row');
  const { open, isHalted } = row;
  const all = order.accounts.length * order.maxOpenPerAccount;
  return { isHalted, freeSlots: isHalted ? 0 : Math.max(0, all - open) };
}

/**
 * Holds the account's row until the transaction ends, so that nobody else gets the same slot.
 * @returns null when every account has as many transactions open as the network allows, or signing is halted
 * @throws SequenceAhead
 */
export async function takeSlot(
  tx: Tx,
  order: SigningOrder,
  nextSequences: NextSequences,
): Promise<Slot | null> {
  if ((await readSigningState(tx, order)).freeSlots === 0) return null;
  if (!(await areAllKnown(tx, order, nextSequences))) return null;
  const candidates = new Set(order.accounts);
  while (candidates.size > 0) {
    const account =
      (await lockFreeAccount(tx, order, [...candidates], { skipLocked: true })) ??
      (await lockFreeAccount(tx, order, [...candidates], undefined));
    if (!account) return null;
    const slot = await takeSlotOf(tx, order, account, expectedOf(nextSequences, account.address));
    if (slot) return slot;
    // Someone else has just taken its last one.
    candidates.delete(account.address);
  }
  return null;
}

type SigningAccount = typeof signingAccounts.$inferSelect;

/**
 * All accounts are looked at, whichever signs next: what was sent with one of them may be what is to be signed now.
 * The network was asked before the rows are read, and they only go up, so nothing of our own seems to be ahead.
 * @returns false when signing was halted here, over accounts whose history this database doesn't know
 * @throws SequenceAhead
 */
async function areAllKnown(tx: Tx, order: SigningOrder, nextSequences: NextSequences): Promise<boolean> {
  const rows = await tx.select().from(signingAccounts);
  const known = new Map(rows.map((row) => [row.address, row.nextSequence]));
  const strangers: Address[] = [];
  for (const address of order.accounts) {
    const ours = known.get(address);
    const expected = expectedOf(nextSequences, address);
    if (ours === undefined) strangers.push(address);
    else if (expected > ours) {
      throw new SequenceAhead(
        address,
        `the network expects sequence ${expected} of ${address}, but this database has given away none from ${ours} on`,
      );
    }
  }
  if (strangers.length === 0) return true;
  // The first accounts of a new database have no history that matters; later ones may have signed for a newer copy.
  const isFirst = rows.length === 0;
  await tx
    .insert(signingAccounts)
    .values(
      strangers.map((address) => ({
        address,
        nextSequence: expectedOf(nextSequences, address),
        ...(isFirst ? {} : { haltedBecause: `${address} is new to this database`, reviewDueAt: sql`now()` }),
      })),
    )
    .onConflictDoNothing();
  return isFirst;
}

function expectedOf(nextSequences: NextSequences, address: Address): bigint {
  const expected = nextSequences.get(address);
  if (expected === undefined) throw new Error(`the network told no sequence of ${address}`);
  return expected;
}

/** The caller holds the account's row. Null when no slot of it is free after all. */
async function takeSlotOf(
  tx: Tx,
  order: SigningOrder,
  account: SigningAccount,
  expected: bigint,
): Promise<Slot | null> {
  // Read after the lock was granted: what others committed before is seen.
  const live = await readLiveSequences(tx, account.address, expected);
  if (live.open >= order.maxOpenPerAccount) return null;
  let sequence = expected;
  while (live.sequences.has(sequence)) sequence += 1n;
  if (sequence >= account.nextSequence) {
    await tx
      .update(signingAccounts)
      .set({ nextSequence: sequence + 1n })
      .where(eq(signingAccounts.address, account.address));
  }
  return { source: account.address, sequence };
}

async function lockFreeAccount(
  tx: Tx,
  order: SigningOrder,
  candidates: readonly Address[],
  config: { skipLocked: true } | undefined,
): Promise<SigningAccount | undefined> {
  const openCount = sql`(SELECT count(*) FROM ${attempts} WHERE ${attempts.source} = ${signingAccounts.address}
    AND ${takesUpSlot})`;
  const [account] = await tx
    .select()
    .from(signingAccounts)
    .where(
      and(inArray(signingAccounts.address, [...candidates]), sql`${openCount} < ${order.maxOpenPerAccount}`),
    )
    // A channel that can't pay keeps what it is given until that dies: the others must not wait behind it.
    .orderBy(sql`random()`)
    .limit(1)
    .for('update', config);
  return account;
}

async function readLiveSequences(tx: Tx, address: Address, from: bigint) {
  const rows = await tx
    .select({ sequence: attempts.sequence, takesUpSlot: sql<boolean>`${takesUpSlot}` })
    .from(attempts)
    .where(
      and(
        eq(attempts.source, address),
        ne(attempts.state, 'DEAD'),
        or(eq(attempts.state, 'OPEN'), gte(attempts.sequence, from)),
      ),
    );
  return {
    open: rows.filter((row) => row.takesUpSlot).length,
    sequences: new Set(rows.map((row) => row.sequence)),
  };
}
