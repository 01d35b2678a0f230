/**
 * Posts the transfers that requests ask for, in batches across requests: one transaction for all postings
 * that arrived while the one before committed (batcher.ts). Each posting has its own outcome, and is
 * committed with its idempotency key, its entry of the audit log, and the rows of its row writer.
 */
import type { DatabaseHandle, Tx } from '../../db/connection.ts';
import type { Batcher } from '../../lib/batches.ts';
import type { Clock, IdSource } from '../../lib/clock.ts';
import { createPostingBatcher } from './batcher.ts';
import {
  parametersOfPost,
  POST,
  postStatement,
  type EncodablePosting,
  type PostingKey,
  type PostingRow,
} from './postingCodec.ts';
import { getOrMake } from '../../lib/getOrMake.ts';

/** Minimum waiting postings that two batches share. Fewer go into one, because each commit costs an fsync. */
const HALVES_FROM = 16;

export type { PostingKey } from './postingCodec.ts';

interface KeyedPosting extends EncodablePosting {
  /** The idempotency key, which stands for `causeId`. Posting reserves it; a refusal leaves it free. */
  key: PostingKey;
}

/** The price of a purchase; null if the project names none. */
interface PriceOfTonne {
  pricePerTonne: string | null;
  priceCurrency: string | null;
}

type PostingOutcome =
  | ({ outcome: 'POSTED'; projectId: string; at: Date } & PriceOfTonne)
  /**
   * The key was used before with the same input, for this target. The target is the posting's own `causeId`
   * when a commit whose answer was lost has posted it, with its entry of the audit log.
   */
  | { outcome: 'REPLAYED'; targetId: string }
  /** The key was used before with another input. */
  | { outcome: 'CONFLICT' }
  /** The debited account holds only `available` tonnes. */
  | { outcome: 'SHORT'; available: bigint }
  /** The price of a tonne is not the expected one. */
  | ({ outcome: 'PRICE_CHANGED' } & PriceOfTonne)
  /** No project has the token. */
  | { outcome: 'NO_PROJECT' };

/** Writes the rows that belong to a batch's posted postings, in the same transaction. */
export interface RowWriter<Row> {
  write(
    tx: Tx,
    rows: readonly (Row & { projectId: string })[],
    deps: { clock: Clock; ids: IdSource },
  ): Promise<void>;
}

export interface Books {
  /**
   * @returns after the commit.
   * @throws DomainError OVERLOADED (nothing was done), or the database's error. After an error the same
   *   posting may be posted again under its key: if it had taken effect, the outcome is REPLAYED.
   */
  post(posting: KeyedPosting): Promise<PostingOutcome>;
  /**
   * Posts, and writes a row with the posting. Each row writer has its own batches: they take longer, and
   * other postings don't wait.
   */
  postWith<Row>(rowWriter: RowWriter<Row>, posting: KeyedPosting, row: Row): Promise<PostingOutcome>;
  /** Batches sent to the database since the start, and their postings. A repeated batch counts again. */
  load(): { batches: number; postings: number };
}

/** One process needs one of these: postings share batches only within it. */
export function createBooks(deps: {
  handle: Pick<DatabaseHandle, 'db' | 'prepared'>;
  clock: Clock;
  ids: IdSource;
}): Books {
  const { handle, ids } = deps;
  let batches = 0;
  let postings = 0;
  const openBatcher = <Item extends KeyedPosting>(
    commit: (items: readonly Item[], at: Date, writerId: string) => Promise<PostingOutcome[]>,
    halvesFrom?: number,
  ) => {
    // Each batcher counts its own entries of the audit log, so that batchers don't wait for each other.
    const writerId = ids.next();
    return createPostingBatcher<Item, PostingOutcome>(
      (items) => {
        batches += 1;
        postings += items.length;
        return commit(items, deps.clock.now(), writerId);
      },
      ({ key }) => JSON.stringify([key.callerSubject, key.operation, key.key]),
      halvesFrom,
    );
  };

  const plain = openBatcher<KeyedPosting>(async (items, at, writerId) => {
    const rows = await handle.prepared<PostingRow>(POST, parametersOfPost(items, at, writerId));
    return items.map((item, i) => outcomeOf(item, rows[i], at));
  }, HALVES_FROM);

  type PostingWithRow = KeyedPosting & { row: object };
  const batchersWithRows = new Map<RowWriter<never>, Batcher<PostingWithRow, PostingOutcome>>();
  const batcherWith = (rowWriter: RowWriter<never>) => {
    const open = () =>
      openBatcher<PostingWithRow>((items, at, writerId) =>
        handle.db.transaction(async (tx) => {
          const rows = await tx.execute<PostingRow>(postStatement(items, at, writerId));
          const posted = items.flatMap(({ row }, i) => {
            const { outcome, project_id: projectId } = rows[i] ?? {};
            return outcome === 'POSTED' ? [{ projectId: projectId ?? '', ...row }] : [];
          });
          // The row writer's rows get the same time as the postings.
          if (posted.length > 0)
            await rowWriter.write(tx, posted as never[], { clock: { now: () => at }, ids });
          return items.map((item, i) => outcomeOf(item, rows[i], at));
        }),
      );
    return getOrMake(batchersWithRows, rowWriter, open);
  };

  return {
    load: () => ({ batches, postings }),
    post: (posting) => plain.submit(posting),
    postWith: (rowWriter, posting, row) => batcherWith(rowWriter).submit({ row: row as object, ...posting }),
  };
}

function outcomeOf({ posting }: KeyedPosting, row: PostingRow | undefined, at: Date): PostingOutcome {
  if (!row) throw new Error(`the database gave no answer for posting ${posting.id}`);
  const price = { pricePerTonne: row.price_per_tonne, priceCurrency: row.price_currency };
  switch (row.outcome) {
    case 'POSTED':
      return { outcome: 'POSTED', projectId: row.project_id ?? '', at, ...price };
    case 'REPLAYED':
      return { outcome: 'REPLAYED', targetId: row.target_id };
    case 'SHORT':
      return { outcome: 'SHORT', available: BigInt(row.available ?? 0) };
    case 'PRICE_CHANGED':
      return { outcome: 'PRICE_CHANGED', ...price };
    case 'CONFLICT':
    case 'NO_PROJECT':
      return { outcome: row.outcome };
  }
}
