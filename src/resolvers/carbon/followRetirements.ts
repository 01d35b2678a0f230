/**
 * retirementFeed: the retirements of one token or of all tokens, from a cursor on and then live.
 */
import { DomainError } from '../../lib/errors.ts';
import type { FeedRecord } from '../../feed/followFeed.ts';
import { FEED_START, feedCursor, positionIn } from '../../feed/feedCursor.ts';
import { readAt } from '../../feed/readFeed.ts';
import type { FeedFilter } from '../../feed/feedFilter.ts';
import type { PullStream } from '../../lib/pullStream.ts';
import type { Needs } from '../core/dependencies.ts';
import { requireProjectByToken } from './findProject.ts';

export { FEED_START, feedCursor };

interface FollowOptions {
  filter: FeedFilter;
  /** A cursor of an earlier event, FEED_START, or null for "from now on". */
  after: string | null;
  /** The key of the reader's address. */
  reader?: string;
}

/** @throws DomainError NOT_FOUND, BAD_USER_INPUT for a cursor that no event had, or whose event was lost. */
export async function followRetirements(
  deps: Needs<'db' | 'network' | 'follower'>,
  { filter, after: cursor, reader }: FollowOptions,
): Promise<PullStream<FeedRecord>> {
  const { tokenAddress } = filter;
  const project =
    tokenAddress == null ? null : await requireProjectByToken(deps, tokenAddress, 'tokenAddress');
  const after = cursor === null ? null : await parseCursor(deps, cursor);
  const ofToken = { ...filter, tokenAddress: project?.tokenAddress ?? null };
  return deps.follower.follow({ filter: ofToken, after, reader });
}

/**
 * A cursor for a client that reads a list afterwards: following from the cursor, the client misses nothing.
 */
export async function latestCursor({ follower }: Needs<'follower'>): Promise<string> {
  const newest = await follower.endForLists();
  return newest === null ? FEED_START : feedCursor(newest);
}

async function parseCursor(deps: Needs<'db'>, after: string): Promise<bigint> {
  if (after === FEED_START) return 0n;
  const position = positionIn(after);
  const record = position === null ? null : await readAt(deps.db, position);
  // A cursor beyond the end would wait forever and look like a quiet feed. After a cursor of a lost history,
  // events would be missing.
  if (record === null || feedCursor(record) !== after) {
    throw new DomainError(
      'BAD_USER_INPUT',
      `"${after.slice(0, 32)}" is not a cursor of this feed. Use the cursor of an event that you received. If it is one, ` +
        `its event was lost when the database was set back: begin again, with "${FEED_START}" for the whole history, or after the ` +
        '`retirementFeedCursor` that you ask for before you read the lists.',
      { field: 'after' },
    );
  }
  return record.position;
}
