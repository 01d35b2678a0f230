/**
 * The feed's cursors: `<position>.<tag>`. A position alone would lead to another place where records were lost, with a failover or an
 * older backup, and were read from the network again: they come in another order, with others between them.
 */
import { hash } from 'node:crypto';
import type { FeedRecord } from './feedFilter.ts';

/** The cursor before the first record: following after it replays everything. */
export const FEED_START = '0';

/** What the tag is made of. What is read again is appended at another time, so below a record with the same tag nothing has changed. */
export type AppendedRecord = Pick<FeedRecord, 'position' | 'tokenAddress' | 'index' | 'appendedAt'>;

const TAG_DIGITS = 8;

export function feedCursor({ position, tokenAddress, index, appendedAt }: AppendedRecord): string {
  const tag = hash('sha256', `${tokenAddress}:${index}:${appendedAt.getTime()}`).slice(0, TAG_DIGITS);
  return `${position}.${tag}`;
}

/** The position that a cursor names; null for a text that is none. */
export function positionIn(cursor: string): bigint | null {
  // No record has a longer position, and the database would refuse one that fits no bigint.
  const [, position] = /^([1-9]\d{0,17})\.[0-9a-f]+$/.exec(cursor) ?? [];
  return position === undefined ? null : BigInt(position);
}
