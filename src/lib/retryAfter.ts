/**
 * Retry-After: how long a busy server asked for no requests. Earlier requests make providers refuse for
 * longer.
 */

/** A longer pause is cut to this: a server that means it asks for another one. */
export const MAX_PAUSE_MS = 60_000;
const BUSY_STATUSES: ReadonlySet<number> = new Set([429, 503]);

/**
 * Pauses requests to one server after its busy answers.
 * @param nowMs Unix time
 */
export function createPause(nowMs: () => number): {
  /** @throws Error until the pause is over */
  requireOver(): void;
  /** Begins a pause when the answer asks for one. */
  note(answer: Pick<Response, 'status' | 'headers'>): void;
} {
  let endsAtMs = 0;
  return {
    requireOver() {
      const leftMs = endsAtMs - nowMs();
      // A longer pause than any begun here means that the machine's clock was set back.
      if (leftMs > 0 && leftMs <= MAX_PAUSE_MS) {
        throw new Error(`it asked to be left alone for ${Math.ceil(leftMs / 1000)} s more`);
      }
    },
    note(answer) {
      const pauseMs = pauseAskedForMs(answer, nowMs());
      if (pauseMs !== null) endsAtMs = nowMs() + pauseMs;
    },
  };
}

/**
 * The pause that an answer asks for, in milliseconds and at most MAX_PAUSE_MS; null when it asks for none.
 * @param nowMs Unix time, to compare a date with
 */
export function pauseAskedForMs(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  nowMs: number,
): number | null {
  if (!BUSY_STATUSES.has(status)) return null;
  const waitMs = retryAfterMs(headers.get('retry-after'), new Date(nowMs));
  return waitMs === null || waitMs === 0 ? null : Math.min(waitMs, MAX_PAUSE_MS);
}

/** The header holds seconds, or an HTTP date. @returns milliseconds; null when it can't be read */
export function retryAfterMs(header: string | null, now: Date): number | null {
  const value = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(at - now.getTime(), 0);
}
