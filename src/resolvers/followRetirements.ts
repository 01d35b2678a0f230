/**
 * retirementFeed: every retirement of one token or of all, from a cursor on and then live.
 */
import { DomainError } from '../errors.ts';
import { readHead, type FeedRecord } from '../feed/followFeed.ts';
import type { Dependencies } from './dependencies.ts';
import { requireProjectByToken } from './findProject.ts';

/** The cursor before the first record: following after it replays everything. */
export const FEED_START = '0';

/**
 * @param after a cursor of an earlier event, FEED_START, or null for "from now on".
 * @throws DomainError NOT_FOUND, BAD_USER_INPUT for a cursor that no event had.
 */
export async function followRetirements(
  deps: Dependencies,
  options: { tokenAddress: string | null; after: string | null; signal: AbortSignal },
): Promise<AsyncGenerator<FeedRecord, void, void>> {
  const project =
    options.tokenAddress === null ? null : await requireProjectByToken(deps, options.tokenAddress);
  const after = options.after === null ? null : await parseCursor(deps, options.after);
  return deps.follower.follow({ tokenAddress: project?.tokenAddress ?? null, after, signal: options.signal });
}

export function feedCursor(record: Pick<FeedRecord, 'position'>): string {
  return record.position.toString();
}

async function parseCursor(deps: Pick<Dependencies, 'db'>, after: string): Promise<bigint> {
  const position = /^(0|[1-9]\d{0,18})$/.test(after) ? BigInt(after) : null;
  // A cursor from the future would wait for ever and look like a quiet feed.
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
