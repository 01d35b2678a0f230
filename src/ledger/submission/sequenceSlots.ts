/**
 * Assigns sequence slots: which account signs next, and with which sequence.
 *
 * The network shows the sequence that it expects, the database those that are assigned; a slot is the
 * smallest sequence that the network has not used and no live attempt holds. So a sequence that became free
 * (its attempt died without landing) is assigned next, and leaves no gap in front of later ones.
 */
import { and, count, eq, gte, inArray, isNull, ne, or, sql, type SQL } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { attempts, signingAccounts, submissions } from '../../db/tables/index.ts';
import {
  SignerShortOfFunds,
  type Address,
  type NextSequences,
  type SequenceSlot,
  type SigningOrder,
} from '../network/port.ts';
import { mayLandUnseen } from '../network/seenLedgers.ts';
import { SequenceAhead, SequenceBehind } from './sequenceMismatch.ts';

/**
 * True of an attempt that holds its slot: undecided, first in its slot, and not under review. An attempt
 * under review can't land any more (otherwise it could be decided), and must not block the slots behind it
 * until an operator decides.
 */
export const takesUpSlot = and(
  // A constant: a cached plan can't match a parameter to the condition of the index of open attempts.
  sql`${attempts.state} = 'OPEN'`,
  isNull(attempts.replaces),
  sql`NOT EXISTS (SELECT 1 FROM ${submissions} WHERE ${submissions.id} = ${attempts.submissionId}
    AND ${submissions.state} = 'NEEDS_REVIEW')`,
);

export interface SigningState {
  /**
   * Null when signing is not halted. One account's unknown history may concern any call, so a halt covers all
   * accounts.
   */
  haltedBecause: string | null;
  /** How many more attempts could be signed now: none while `mayLandUnseen`. */
  freeSlots: number;
  /** Calls of a lost history of this database may land unseen: the same call could be signed twice. */
  mayLandUnseen: boolean;
  /** The check of a halt, or of submissions that an ended halt has left under review, is due now. */
  isReviewDue: boolean;
}

export async function readSigningState(db: Pick<Db, 'select'>, order: SigningOrder): Promise<SigningState> {
  const payers = payersOf(order);
  const [row] = await db
    .select({
      open: sql<number>`count(*) FILTER (WHERE ${inArray(attempts.source, payers)})::integer`,
      haltedBecause: sql<string | null>`(SELECT ${signingAccounts.haltedBecause} FROM ${signingAccounts}
        WHERE ${signingAccounts.haltedBecause} IS NOT NULL ORDER BY ${signingAccounts.address} LIMIT 1)`,
      mayLandUnseen:
        order.landsUnseenForSeconds === undefined
          ? sql<boolean>`false`
          : mayLandUnseen(order.landsUnseenForSeconds),
      isReviewDue: sql<boolean>`EXISTS (SELECT 1 FROM ${signingAccounts} WHERE ${signingAccounts.reviewDueAt} <= now())`,
    })
    .from(attempts)
    .where(takesUpSlot);
  if (!row) throw new Error('a count has no row');
  const { open, ...state } = row;
  // If no account can pay, one tries: the network is asked again, and the missing funds are shown.
  const all = payers.length === 0 ? 1 : payers.length * order.maxOpenPerAccount;
  const maySign = state.haltedBecause === null && !state.mayLandUnseen;
  return { ...state, freeSlots: maySign ? Math.max(0, all - open) : 0 };
}

function payersOf({ accounts, unfunded = [] }: SigningOrder): Address[] {
  return accounts.filter((address) => !unfunded.includes(address));
}

/**
 * Takes a slot for each attempt. Locks the accounts' rows, so that no other instance gets the same slots.
 * @param wanted the attempts' names, in the same order on each copy of the database: copies that run at once
 *   sign an intent in one slot, where only one lands. They may still sign different attempts, and burn twice.
 * @param waiting the next sequences after what waits at the node
 * @returns fewer slots when the accounts may open no more transactions; none while signing is halted
 * @throws SequenceMismatch, SignerShortOfFunds
 */
export async function takeSlots(
  tx: Tx,
  order: SigningOrder,
  wanted: readonly string[],
  nextSequences: NextSequences,
  waiting = nextSequences,
): Promise<SequenceSlot[]> {
  if ((await readSigningState(tx, order)).freeSlots === 0) return [];
  if (!(await requireKnownSequences(tx, order, nextSequences, waiting))) return [];
  const slots: SequenceSlot[] = [];
  const payers = payersOf(order);
  const candidates = new Set(payers);
  if (candidates.size === 0) {
    const addresses = order.accounts.slice(0, 3).join(', ');
    const until = order.leastToSpend === undefined ? '' : ` until each has ${order.leastToSpend} to spend`;
    throw new SignerShortOfFunds(`No signing account can pay for a write: fund ${addresses}${until}`);
  }
  const [drawnBy = ''] = wanted;
  while (candidates.size > 0 && slots.length < wanted.length) {
    const limit = wanted.length - slots.length;
    let free = await lockFreeAccounts(tx, order, [...candidates], {
      drawnBy,
      limit,
      lock: { skipLocked: true },
    });
    // Waiting for an account while holding others, even ones without a free slot, could end in a deadlock.
    if (free.length === 0 && candidates.size === payers.length) {
      free = await lockFreeAccounts(tx, order, [...candidates], { drawnBy, limit: 1 });
    }
    if (free.length === 0) break;
    // An account whose last slot another instance has just taken gives none.
    slots.push(...(await takeSlotsOf(tx, order, free, nextSequences, limit)));
    for (const { address } of free) candidates.delete(address);
  }
  return slots;
}

type SigningAccount = typeof signingAccounts.$inferSelect;

/**
 * Checks all accounts, whichever signs next: an unknown transaction of any may be the call that is to be
 * signed now. The network is asked before the rows are read, and they only go up, so the platform's own are
 * never ahead. Transactions that wait at the node count as well: if their slot is assigned again, one lands
 * there, and the other call, perhaps the same one, in another slot.
 * @returns false when signing is halted, or was halted here over accounts whose history is unknown
 * @throws SequenceMismatch
 */
export async function requireKnownSequences(
  tx: Tx,
  order: SigningOrder,
  nextSequences: NextSequences,
  waiting: NextSequences,
): Promise<boolean> {
  const rows = await tx
    .select({
      address: signingAccounts.address,
      nextSequence: signingAccounts.nextSequence,
      haltedBecause: signingAccounts.haltedBecause,
      seen: lastSeen(),
    })
    .from(signingAccounts);
  if (rows.some(({ haltedBecause }) => haltedBecause !== null)) return false;
  const known = new Map(rows.map((row) => [row.address, row]));
  const strangers: Address[] = [];
  for (const address of order.accounts) {
    const ours = known.get(address);
    const expected = expectedOf(nextSequences, address);
    const afterAll = waiting.get(address) ?? expected;
    if (ours === undefined) strangers.push(address);
    else if (afterAll > ours.nextSequence) {
      throw new SequenceAhead(
        address,
        `the network expects sequence ${afterAll} of ${address}${afterAll > expected ? ' after what waits at the node' : ''}, ` +
          `but this database has given away none from ${ours.nextSequence} on: the key was used elsewhere, or the database ` +
          'is an old copy',
      );
    } else if (ours.seen && BigInt(ours.seen.sequence) >= expected) {
      throw new SequenceBehind(address, {
        sequence: BigInt(ours.seen.sequence),
        ledger: BigInt(ours.seen.ledger),
      });
    }
  }
  if (strangers.length === 0) return true;
  // The first accounts of a new database have no history that matters; later ones may have signed elsewhere.
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

/**
 * The account's highest sequence that this database has seen in a ledger; text, since JSON numbers lose
 * digits.
 */
function lastSeen() {
  return sql<{ sequence: string; ledger: string } | null>`(SELECT jsonb_build_object(
      'sequence', ${attempts.sequence}::text, 'ledger', ${attempts.ledger}::text)
    FROM ${attempts} WHERE ${attempts.source} = ${signingAccounts.address} AND ${attempts.ledger} IS NOT NULL
      AND ${attempts.sequence} IS NOT NULL
    ORDER BY ${attempts.sequence} DESC LIMIT 1)`;
}

function expectedOf(nextSequences: NextSequences, address: Address): bigint {
  const expected = nextSequences.get(address);
  if (expected === undefined) throw new Error(`the network gave no sequence of ${address}`);
  return expected;
}

/** The caller holds the accounts' rows. */
async function takeSlotsOf(
  tx: Tx,
  order: SigningOrder,
  held: readonly SigningAccount[],
  nextSequences: NextSequences,
  count: number,
): Promise<SequenceSlot[]> {
  const expected = new Map(held.map(({ address }) => [address, expectedOf(nextSequences, address)]));
  // Read after the locks were granted, so that what others committed before is seen.
  const [live, takenUp] = await Promise.all([
    readLiveSequences(tx, expected),
    countTakenUp(tx, [...expected.keys()]),
  ]);
  const slots: SequenceSlot[] = [];
  const raised: SQL[] = [];
  for (const { address, nextSequence } of held) {
    const ofAccount = live.filter(({ source }) => source === address);
    const taken = new Set(ofAccount.map(({ sequence }) => sequence));
    let free = Math.min(count - slots.length, order.maxOpenPerAccount - (takenUp.get(address) ?? 0));
    let sequence = expected.get(address) ?? 0n;
    for (; free > 0; sequence += 1n) {
      if (taken.has(sequence)) continue;
      slots.push({ source: address, sequence });
      free -= 1;
    }
    const last = slots.at(-1);
    if (last?.source === address && last.sequence >= nextSequence) {
      raised.push(sql`(${address}, ${last.sequence + 1n}::bigint)`);
    }
  }
  if (raised.length > 0) {
    await tx.execute(sql`UPDATE ${signingAccounts} SET next_sequence = v.next
      FROM (VALUES ${sql.join(raised, sql`, `)}) v (address, next) WHERE ${signingAccounts.address} = v.address`);
  }
  return slots;
}

/**
 * Takes back the account's last sequence if it is proved unused. Otherwise, when a copy of this database is
 * restored, a transaction of the lost history with this sequence would seem to be known.
 */
export async function giveBackSlot(tx: Tx, { source, sequence }: SequenceSlot): Promise<void> {
  const isTaken = sql`EXISTS (SELECT 1 FROM ${attempts} WHERE ${attempts.source} = ${source}
    AND ${attempts.sequence} = ${sequence} AND (${attempts.state} <> 'DEAD' OR ${attempts.cause} IS NOT NULL))`;
  const isLast = eq(signingAccounts.nextSequence, sequence + 1n);
  await tx
    .update(signingAccounts)
    .set({ nextSequence: sequence })
    .where(and(eq(signingAccounts.address, source), isLast, sql`NOT ${isTaken}`));
}

async function lockFreeAccounts(
  tx: Tx,
  order: SigningOrder,
  candidates: readonly Address[],
  { drawnBy, limit, lock }: { drawnBy: string; limit: number; lock?: { skipLocked: true } },
): Promise<SigningAccount[]> {
  const openCount = sql`(SELECT count(*) FROM ${attempts} WHERE ${attempts.source} = ${signingAccounts.address}
    AND ${takesUpSlot})`;
  return (
    tx
      .select()
      .from(signingAccounts)
      .where(
        and(
          inArray(signingAccounts.address, [...candidates]),
          // Compared again once the lock is granted: its last holder may have halted the account.
          isNull(signingAccounts.haltedBecause),
          sql`${openCount} < ${order.maxOpenPerAccount}`,
        ),
      )
      // A channel whose transactions do not land keeps its slots until they die. A new order for each attempt
      // spreads the others over the remaining accounts.
      .orderBy(sql`md5(${signingAccounts.address} || ${drawnBy}::text)`)
      .limit(limit)
      .for('update', lock)
  );
}

/** Sequences of live attempts from each account's expected one on: a few of an endless history. */
function readLiveSequences(tx: Tx, expected: NextSequences) {
  const { source, sequence, state } = attempts;
  const isFrom = [...expected].map(([address, from]) => and(eq(source, address), gte(sequence, from)));
  return tx
    .select({ source, sequence })
    .from(attempts)
    .where(and(ne(state, 'DEAD'), or(...isFrom)));
}

/** How many slots of these accounts are taken up. */
async function countTakenUp(tx: Tx, addresses: readonly Address[]): Promise<ReadonlyMap<Address, number>> {
  const { source } = attempts;
  const rows = await tx
    .select({ source, open: count() })
    .from(attempts)
    .where(and(takesUpSlot, inArray(source, [...addresses])))
    .groupBy(source);
  return new Map(rows.map((row) => [row.source, row.open]));
}
