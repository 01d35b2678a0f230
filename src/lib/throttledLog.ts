/**
 * One log line a second for events that strangers can cause at will: the first at once, later ones counted.
 */
import type { Logger } from './logger.ts';

export interface ThrottledLog {
  /** @param about short texts by plural names; a line lists the first values of each name and counts all */
  count(about: Readonly<Record<string, string>>): void;
  /** Logs the events that are counted and not logged yet. */
  stop(): void;
}

const INTERVAL_MS = 1_000;
/** Maximum values of one name in one line. */
const MAX_VALUES = 10;

/**
 * @param message the text of each line; its fields are the listed values, `count` since the last line, and
 * `total`
 */
export function createThrottledLog(log: Pick<Logger, 'warn'>, message: string): ThrottledLog {
  let counted = 0;
  let total = 0;
  let values = new Map<string, Set<string>>();
  let timer: NodeJS.Timeout | null = null;
  const write = () => {
    const named = Object.fromEntries([...values].map(([name, seen]) => [name, [...seen]]));
    log.warn({ ...named, count: counted, total }, message);
    counted = 0;
    values = new Map();
    timer = setTimeout(rest, INTERVAL_MS).unref();
  };
  const rest = () => {
    timer = null;
    if (counted > 0) write();
  };
  return {
    count(about) {
      counted += 1;
      total += 1;
      for (const [name, value] of Object.entries(about)) {
        const seen = values.get(name) ?? new Set();
        if (seen.size < MAX_VALUES) seen.add(value);
        values.set(name, seen);
      }
      if (timer === null) write();
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      rest();
    },
  };
}
