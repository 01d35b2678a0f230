import type { ChangingTable } from '../excerpt.ts';
import type { Invariant } from '../verdicts.ts';

/** A query that selects each row that contradicts an invariant, as a sentence in `message`. */
export interface Contradiction extends Rule {
  invariant: Invariant;
}

export interface Rule {
  query: string;
  /**
   * How an incremental run asks the query.
   * - EXCERPT, unless given: on the changed rows, as if there were no others (excerpt.ts).
   * - WHOLE: on whole tables, which are short, and whose rows the rule compares with each other.
   * - A query: on whole tables and their changed rows, `changed_…`, for a rule about a history that no
   *   excerpt contains.
   */
  incremental?: 'EXCERPT' | 'WHOLE' | { query: string };
}

/**
 * A rule about each row of one table: an incremental run asks it about the changed rows, beside the whole other
 * tables. The name of the changed rows hides the whole table.
 */
export function aboutRowsOf(table: ChangingTable, query: string): Rule {
  const ofChanged = `WITH ${table} AS (SELECT * FROM changed_${table}) SELECT message FROM (${query}) AS asked`;
  return { query, incremental: { query: ofChanged } };
}

/** The rules of each invariant. A query alone is a rule that an incremental run asks on the changed rows. */
export function contradictions(
  byInvariant: Partial<Record<Invariant, readonly (string | Rule)[]>>,
): Contradiction[] {
  return Object.entries(byInvariant).flatMap(([invariant, rules]) =>
    rules.map((rule) => ({
      invariant: invariant as Invariant,
      ...(typeof rule === 'string' ? { query: rule } : rule),
    })),
  );
}
