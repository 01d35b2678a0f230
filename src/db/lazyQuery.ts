/**
 * The interface of postgres.js that Drizzle uses: `unsafe`, answered as rows or as arrays of values; `begin`.
 */
import type postgres from 'postgres';

/** An unsent statement of postgres.js. */
type Unsent = ReturnType<postgres.Sql['unsafe']>;
type Send = (query: Unsent) => PromiseLike<unknown>;

interface LazyQuery extends PromiseLike<postgres.Row[]> {
  /** The rows as arrays of values. Call it instead of awaiting the rows. */
  values(): Promise<unknown>;
}

export interface SqlForDrizzle {
  unsafe(text: string, parameters?: postgres.ParameterOrJSON<never>[]): LazyQuery;
}

/** Runs the statement once, when its answer is asked for: only then the form of the answer is known. */
export function lazyQuery(run: (send: Send) => Promise<unknown>): LazyQuery {
  let answer: Promise<unknown> | undefined;
  return {
    // oxlint-disable-next-line unicorn/no-thenable -- Drizzle awaits it, as it does a query of postgres.js.
    then(onAnswer, onError) {
      answer ??= run((query) => query);
      return (answer as Promise<postgres.Row[]>).then(onAnswer, onError);
    },
    values() {
      answer ??= run((query) => query.values());
      return answer;
    },
  };
}
