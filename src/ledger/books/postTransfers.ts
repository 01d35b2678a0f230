/**
 * Posts transfers inside a caller's transaction: a batch in one statement, each with its success or refusal.
 *
 * The database's function post_transfers (drizzle/platform/0001_rules.sql) locks the accounts in the order of
 * their ids, so that batches that share accounts wait for each other instead of deadlocking. Within a batch,
 * postings apply in their order and see each other's effects. Postings of single requests go through
 * books.ts.
 */
import type { Tx } from '../../db/connection.ts';
import { postStatement, type PostingRow } from './postingCodec.ts';
import type { Posting } from './postings.ts';

type PostingResult =
  | { ok: true }
  /** Refused: the debited account holds only `available` tonnes. */
  | { ok: false; available: bigint };

/** Accounts stay locked while a batch is written: about 10 ms at this size. Callers split larger batches. */
const MAX_POSTINGS_PER_BATCH = 500;

/** Call it at most once per transaction: locks are ordered within one call only. */
export async function postTransfers(
  tx: Tx,
  postings: readonly Posting[],
  at: Date,
): Promise<PostingResult[]> {
  if (postings.length === 0) return [];
  if (postings.length > MAX_POSTINGS_PER_BATCH) {
    throw new RangeError(`${postings.length} postings in one batch, at most ${MAX_POSTINGS_PER_BATCH}`);
  }
  const items = postings.map((posting) => ({ posting }));
  const rows = await tx.execute<PostingRow>(postStatement(items, at, null));
  return rows.map((row) => {
    if (row.outcome === 'POSTED') return { ok: true };
    if (row.outcome === 'SHORT') return { ok: false, available: BigInt(row.available ?? 0) };
    throw new Error(`a posting without a key, for a known project, was answered ${row.outcome}`);
  });
}
