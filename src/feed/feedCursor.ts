/**
 * The feed's cursors: `<position>.<tag>`. A position alone would name another place after records were lost
 * in a failover or with an older backup: they are read from the network again in another order, mixed with
 * others.
 */
import { hash } from 'node:crypto';
import type { FeedRecord } from './feedFilter.ts';

/** The cursor before the first record: following after it replays everything. */
export const FEED_START = '0';

/**
 * The position, and the fields of the tag. A lost record that is read again is appended at another time, so
 * if a tag is the same, no record before it has changed.
 */
export type AppendedRecord = Pick<FeedRecord, 'position' | 'tokenAddress' | 'index' | 'appendedAt'>;

const TAG_DIGITS = 8;

/** The cursor after which following goes on behind this record. */
export function feedCursor({ position, tokenAddress, index, appendedAt }: AppendedRecord): string {
  const tag = hash('sha256', `${tokenAddress}:${index}:${appendedAt.getTime()}`).slice(0, TAG_DIGITS);
  return `${position}.${tag}`;
}

/** The position that a cursor names; null for a text that is no cursor. */
export function positionIn(cursor: string): bigint | null {
  // No record has a position with more digits, and the database refuses one that does not fit a bigint.
  const [, position] = /^([1-9]\d{0,17})\.[0-9a-f]+$/.exec(cursor) ?? [];
  return position === undefined ? null : BigInt(position);
}
