import type { Invariant } from '../verdicts.ts';

/** A query that selects each row that contradicts an invariant, as a sentence in `message`. */
export interface Contradiction {
  invariant: Invariant;
  query: string;
  /**
   * How an incremental run asks it. EXCERPT, unless given: on the rows of what has changed, as if there were no others
   * (excerpt.ts). WHOLE: on whole tables, which are short, and whose rows the rule compares with each other. A query: on whole
   * tables and the rows of each that changed, `changed_…`, where the rule is about a history that no excerpt has.
   */
  incremental?: 'EXCERPT' | 'WHOLE' | { query: string };
}
