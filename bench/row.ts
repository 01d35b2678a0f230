/**
 * What a row of the benchmark is: the product against a baseline, with a target for their ratio.
 */
import type { Bench } from './bench.ts';

interface Target {
  /** The ratio must be at least, or at most, this. */
  atLeast?: number;
  atMost?: number;
}

export interface Outcome {
  ratio: number;
  /** In the row's unit. */
  product: number;
  baseline: number;
  /** What else was measured, for the report: names with their units. */
  details?: Readonly<Record<string, number>>;
}

export interface Row {
  /** What `npm run bench -- <name>` runs. */
  name: string;
  /** Rows of one chart. */
  group: string;
  title: string;
  /** Of `product` and `baseline`. */
  unit: string;
  /** What the ratio compares with. */
  baseline: string;
  target: Target;
  /** Why the row can't be measured on this machine; null where it can. */
  skip?(): string | null;
  run(bench: Bench): Promise<Outcome>;
}

export type RowResult = Pick<Row, 'name' | 'group' | 'title' | 'unit' | 'target'> &
  Outcome & { comparedWith: string; isReached: boolean; seconds: number };

export function isReached(ratio: number, { atLeast, atMost }: Target): boolean {
  return (atLeast === undefined || ratio >= atLeast) && (atMost === undefined || ratio <= atMost);
}

/** `≥ 8` */
export function describeTarget({ atLeast, atMost }: Target): string {
  return [
    ...(atLeast === undefined ? [] : [`≥ ${atLeast}`]),
    ...(atMost === undefined ? [] : [`≤ ${atMost}`]),
  ].join(', ');
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

interface Turns<T> {
  product: () => Promise<T>;
  baseline: () => Promise<T>;
  /** What of a turn is compared. */
  of: (turn: T) => number;
}

/**
 * Baseline and product in turns, so that what else the machine does falls on both; the median of the rounds' ratios,
 * and the round that it belongs to. A round before them does not count: a server serves some thousands of requests before
 * its code is compiled.
 */
export async function inTurns<T>(
  bench: Pick<Bench, 'rounds' | 'say'>,
  { product, baseline, of }: Turns<T>,
): Promise<{ ratio: number; product: T; baseline: T }> {
  const rounds: { ratio: number; product: T; baseline: T }[] = [];
  for (let round = 0; round <= bench.rounds; round++) {
    const name = round === 0 ? 'warming up' : `round ${round} of ${bench.rounds}`;
    bench.say(`${name}: baseline`);
    const ofBaseline = await baseline();
    bench.say(`${name}: product`);
    const ofProduct = await product();
    if (round > 0)
      rounds.push({ ratio: of(ofProduct) / of(ofBaseline), product: ofProduct, baseline: ofBaseline });
  }
  rounds.sort((a, b) => a.ratio - b.ratio);
  const middle = rounds[(rounds.length - 1) >> 1];
  if (middle === undefined) throw new Error('a row without rounds measures nothing');
  return middle;
}
