/**
 * The only writer of the books: posts a batch of transfers, each with its own success or refusal.
 *
 * Accounts are locked in the order of their ids, so that batches that share accounts wait for each other
 * instead of deadlocking. Within a batch, postings apply in their order and see each other's effects.
 * Triggers in the database prove at commit what this code intends (drizzle/platform, "rules").
 */
import { and, eq, or, sql, type SQL } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { accounts, entries, transfers } from '../../db/schema/index.ts';

export type TransferKind = (typeof transfers.kind.enumValues)[number];

/** An account by what it is for. Only buyers' accounts exist more than once per project. */
export type AccountRef =
  { kind: 'issuance' | 'inventory' | 'retiring' | 'retired' } | { kind: 'buyer'; buyerId: string };

export interface Posting {
  /** The transfer's id, made by the caller. */
  id: string;
  projectId: string;
  kind: TransferKind;
  /** The project, purchase or retirement it belongs to. Each kind posts once per reference. */
  referenceId: string;
  debit: AccountRef;
  credit: AccountRef;
  /** Whole tonnes, positive. */
  amount: bigint;
}

export type PostingResult =
  | { ok: true }
  /** Refused: the debited account holds only `available` tonnes. */
  | { ok: false; available: bigint };

/** A batch is one statement's worth of rows; callers split what is larger. */
export const MAX_POSTINGS_PER_BATCH = 500;

type Account = typeof accounts.$inferSelect;

/**
 * Posts transfers inside the caller's transaction. Call it at most once per transaction: the order of locks
 * holds within one call only.
 */
export async function postTransfers(
  tx: Tx,
  postings: readonly Posting[],
  at: Date,
): Promise<PostingResult[]> {
  if (postings.length === 0) return [];
  if (postings.length > MAX_POSTINGS_PER_BATCH) {
    throw new RangeError(`${postings.length} postings in one batch, at most ${MAX_POSTINGS_PER_BATCH}`);
  }
  await openAccounts(tx, postings);
  const byKey = await lockAccounts(tx, postings);
  const { results, posted, sides } = applyInOrder(postings, byKey, at);
  if (posted.length > 0) {
    await tx.insert(transfers).values(posted);
    await tx.insert(entries).values(sides);
    await storeBalances(tx, sides, byKey);
  }
  return results;
}

/**
 * Accounts come into being when they are first credited, and issuance when it is first debited. Any other
 * debited account that isn't there simply holds nothing.
 */
async function openAccounts(tx: Tx, postings: readonly Posting[]): Promise<void> {
  const wanted = new Map<string, { projectId: string; ref: AccountRef }>();
  for (const { projectId, debit, credit } of postings) {
    const refs = debit.kind === 'issuance' ? [debit, credit] : [credit];
    for (const ref of refs) wanted.set(accountKey(projectId, ref), { projectId, ref });
  }
  // Sorted, so that two batches that open the same accounts wait for each other in one order.
  const rows = [...wanted]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { projectId, ref }]) => ({ projectId, kind: ref.kind, ownerId: ownerOf(ref) }));
  await tx.insert(accounts).values(rows).onConflictDoNothing();
}

async function lockAccounts(tx: Tx, postings: readonly Posting[]): Promise<Map<string, Account>> {
  const wanted = new Map<string, SQL | undefined>();
  for (const p of postings) {
    for (const ref of [p.debit, p.credit])
      wanted.set(accountKey(p.projectId, ref), identity(p.projectId, ref));
  }
  const locked = await tx
    .select()
    .from(accounts)
    .where(or(...wanted.values()))
    .orderBy(accounts.id)
    .for('update');
  return new Map(locked.map((a) => [`${a.projectId}/${a.kind}/${a.ownerId}`, a]));
}

function applyInOrder(postings: readonly Posting[], byKey: Map<string, Account>, at: Date) {
  const results: PostingResult[] = [];
  const posted: (typeof transfers.$inferInsert)[] = [];
  const sides: (typeof entries.$inferInsert)[] = [];

  for (const p of postings) {
    const debit = byKey.get(accountKey(p.projectId, p.debit));
    const credit = byKey.get(accountKey(p.projectId, p.credit));
    if (!credit) throw new Error(`account ${accountKey(p.projectId, p.credit)} was not opened`);
    // Only issuance, the contra account, may go below zero.
    if (!debit || (p.debit.kind !== 'issuance' && debit.balance < p.amount)) {
      results.push({ ok: false, available: debit?.balance ?? 0n });
      continue;
    }
    posted.push({
      id: p.id,
      projectId: p.projectId,
      kind: p.kind,
      referenceId: p.referenceId,
      debitAccountId: debit.id,
      creditAccountId: credit.id,
      amount: p.amount,
      createdAt: at,
    });
    sides.push(nextEntry(debit, p.id, -p.amount), nextEntry(credit, p.id, p.amount));
    results.push({ ok: true });
  }
  return { results, posted, sides };
}

/** Moves the account on in memory and gives the entry that records it. */
function nextEntry(account: Account, transferId: string, amount: bigint): typeof entries.$inferInsert {
  const balanceBefore = account.balance;
  account.balance += amount;
  account.version += 1n;
  return {
    accountId: account.id,
    version: account.version,
    transferId,
    amount,
    balanceBefore,
    balanceAfter: account.balance,
  };
}

async function storeBalances(
  tx: Tx,
  sides: readonly (typeof entries.$inferInsert)[],
  byKey: Map<string, Account>,
): Promise<void> {
  const touched = new Set(sides.map((side) => side.accountId));
  const rows = [...byKey.values()]
    .filter((account) => touched.has(account.id))
    .map((a) => sql`(${a.id}::bigint, ${a.balance}::bigint, ${a.version}::bigint)`);
  await tx.execute(sql`
    UPDATE ${accounts} AS a SET balance = v.balance, version = v.version
    FROM (VALUES ${sql.join(rows, sql`, `)}) AS v (id, balance, version)
    WHERE a.id = v.id`);
}

function ownerOf(ref: AccountRef): string {
  return ref.kind === 'buyer' ? ref.buyerId : '';
}

function accountKey(projectId: string, ref: AccountRef): string {
  return `${projectId}/${ref.kind}/${ownerOf(ref)}`;
}

function identity(projectId: string, ref: AccountRef): SQL | undefined {
  return and(
    eq(accounts.projectId, projectId),
    eq(accounts.kind, ref.kind),
    eq(accounts.ownerId, ownerOf(ref)),
  );
}
