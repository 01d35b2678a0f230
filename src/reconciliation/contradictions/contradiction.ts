import type { Invariant } from '../verdicts.ts';

/** A query that selects each row that contradicts an invariant, as a sentence in `message`. */
export interface Contradiction {
  invariant: Invariant;
  query: string;
}
