/**
 * Asks the network, and keeps the answers when other questions fail. Without an answer an invariant is not
 * proved, and the rest is still compared.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { NetworkUnavailable } from '../ledger/network/port.ts';
import { add, nothingCompared, unproved, type Comparison, type Invariant } from './verdicts.ts';

/**
 * Maximum successive questions without an answer, for each question under way at a time. The remaining ones
 * of their kind are then skipped, because each may last until its timeout. The pause after each bridges a
 * network failure of some seconds without skipping.
 */
const MAX_UNANSWERED = 3;
const PAUSE_MS = 1_000;

interface Answered extends Comparison {
  /** Whether the network has answered. If left out, it has when no obstacle is NO_ANSWER. */
  isAnswered?: boolean;
}

export interface Questions {
  /**
   * Asks one question for each item.
   * @returns the comparisons, null for an item that was skipped
   */
  askAll<T>(
    items: readonly T[],
    nameOf: (item: T) => string,
    compare: (item: T) => Promise<Answered>,
  ): Promise<(Comparison | null)[]>;
  /** All comparisons so far, and an obstacle for skipped items. */
  sum(): Comparison;
}

/** @param kind.noun the plural name of the items */
export function createQuestions(kind: {
  invariants: readonly Invariant[];
  noun: string;
  /** Maximum questions under way at a time. */
  concurrency: number;
  /** Passed in by tests. */
  wait?: (ms: number) => Promise<unknown>;
}): Questions {
  const { wait = delay } = kind;
  const limit = pLimit(kind.concurrency);
  const sum = nothingCompared();
  /** Successive questions without an answer. */
  let unanswered = 0;
  let skipped = 0;
  return {
    async askAll(items, nameOf, compare) {
      const ask = async (item: (typeof items)[number]) => {
        if (unanswered >= MAX_UNANSWERED * kind.concurrency) {
          skipped += 1;
          return null;
        }
        const compared = await orNotAnswered(kind.invariants, nameOf(item), compare(item));
        const isAnswered =
          compared.isAnswered ?? compared.notProved.every(({ obstacle }) => obstacle !== 'NO_ANSWER');
        unanswered = isAnswered ? 0 : unanswered + 1;
        if (!isAnswered) await wait(PAUSE_MS);
        return compared;
      };
      const all = await Promise.all(items.map((item) => limit(() => ask(item))));
      for (const compared of all) if (compared !== null) add(sum, compared);
      return all;
    },
    sum() {
      const compared = nothingCompared();
      add(compared, sum);
      if (skipped > 0) {
        const message = `${skipped} ${kind.noun} were not compared, after the network did not answer for ${unanswered}`;
        add(compared, unproved(kind.invariants, 'NO_ANSWER', message));
      }
      return compared;
    },
  };
}

export async function orNotAnswered(
  invariants: readonly Invariant[],
  what: string,
  work: Promise<Answered>,
): Promise<Answered> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof NetworkUnavailable)) throw error;
    return unproved(invariants, 'NO_ANSWER', `${what}: ${error.message}`);
  }
}
