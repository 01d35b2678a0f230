/**
 * The port's limits for one read, the same for every family of networks.
 */

/** At most this many retirement records in one read: Stellar's limit for ledger entries in one call. */
export const MAX_RECORDS_PER_READ = 200;
/** At most this many tokens in one batched read, for the same reason. */
export const MAX_TOKENS_PER_READ = 200;

/** @throws RangeError */
export function requireRecordRange(fromIndex: number, limit: number): void {
  requireAtMost(limit, MAX_RECORDS_PER_READ, 'records');
  if (!Number.isSafeInteger(fromIndex) || fromIndex < 0) {
    throw new RangeError(`Retirement records are indexed from 0, not from ${fromIndex}`);
  }
}

/** @throws RangeError */
export function requireTokenCount(count: number): void {
  requireAtMost(count, MAX_TOKENS_PER_READ, 'tokens');
}

function requireAtMost(count: number, max: number, what: string): void {
  if (!Number.isSafeInteger(count) || count < 0 || count > max) {
    throw new RangeError(`${count} ${what} asked for in one read; at most ${max}`);
  }
}
