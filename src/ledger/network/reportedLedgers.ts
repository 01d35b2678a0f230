/**
 * The newest ledger in the answers to this process: a node that answers with an older one is behind.
 */
export interface ReportedLedgers {
  note(ledger: bigint): void;
  /** The latest ledger in the answers of the last minute; 0n if there was none. */
  latest(): bigint;
  /** The last reported ledger, of any age, and its time by the clock of `elapsedMs`. */
  last(): { ledger: bigint; atMs: number };
}

/**
 * How long a reported ledger counts: without the limit, one false number would make each later answer an
 * outdated one. A node that lags by more counts as behind.
 */
const REPORT_LASTS_MS = 60_000;

/** @param elapsedMs a monotonic clock: one that is set back would prolong the belief in a false number */
export function createReportedLedgers(elapsedMs: () => number = () => performance.now()): ReportedLedgers {
  let last = { ledger: 0n, atMs: 0 };
  const latest = () => (elapsedMs() - last.atMs < REPORT_LASTS_MS ? last.ledger : 0n);
  return {
    note(ledger) {
      if (ledger >= latest()) last = { ledger, atMs: elapsedMs() };
    },
    latest,
    last: () => last,
  };
}
