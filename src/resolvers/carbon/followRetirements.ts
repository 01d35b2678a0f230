/**
 * retirementFeed: the retirements of one token or of all, from a cursor on and then live.
 */
import { DomainError } from '../../lib/errors.ts';
import type { FeedRecord } from '../../feed/followFeed.ts';
import { readHead } from '../../feed/readFeed.ts';
import type { FeedFilter } from '../../feed/feedFilter.ts';
import type { PullStream } from '../../lib/pullStream.ts';
import type { Needs } from '../core/dependencies.ts';
import { requireProjectByToken } from './findProject.ts';

/** The cursor before the first record: following after it replays everything. */
export const FEED_START = '0';

interface FollowOptions {
  filter: FeedFilter;
  /** A cursor of an earlier event, FEED_START, or null for "from now on". */
  after: string | null;
}

/** @throws DomainError NOT_FOUND, BAD_USER_INPUT for a cursor that no event had. */
export async function followRetirements(
  deps: Needs<'db' | 'network' | 'follower'>,
  { filter, after: cursor }: FollowOptions,
): Promise<PullStream<FeedRecord>> {
  const project = filter.tokenAddress == null ? null : await requireProjectByToken(deps, filter.tokenAddress);
  const after = cursor === null ? null : await parseCursor(deps, cursor);
  const ofToken = { ...filter, tokenAddress: project?.tokenAddress ?? null };
  return deps.follower.follow({ filter: ofToken, after });
}

export function feedCursor(record: Pick<FeedRecord, 'position'>): string {
  return record.position.toString();
}

/** A cursor after which a client follows that has read a list since: it misses nothing. */
export async function latestCursor({ follower }: Needs<'follower'>): Promise<string> {
  return feedCursor({ position: await follower.endForLists() });
}

async function parseCursor(deps: Needs<'db'>, after: string): Promise<bigint> {
  const position = /^(0|[1-9]\d{0,18})$/.test(after) ? BigInt(after) : null;
  // A cursor beyond the head would wait forever and look like a quiet feed.
  if (position === null || position > (await readHead(deps.db))) {
    throw new DomainError(
      'BAD_USER_INPUT',
      `"${after.slice(0, 32)}" is not a cursor of this feed. Use the cursor of an event that you received, ` +
        `"${FEED_START}" for the whole history, or none to start from now.`,
      { field: 'after' },
    );
  }
  return position;
}
