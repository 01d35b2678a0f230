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
}

/** A turn of each, beside each other. */
export interface Round<T> {
  product: T;
  baseline: T;
}

/**
 * Baseline and product in turns, so that what else the machine does falls on both. A round before them does not count: a
 * server serves some thousands of requests before its code is compiled.
 */
export async function takeTurns<T>(
  bench: Pick<Bench, 'rounds' | 'say'>,
  { product, baseline }: Turns<T>,
): Promise<Round<T>[]> {
  const rounds: Round<T>[] = [];
  for (let round = 0; round <= bench.rounds; round++) {
    const name = round === 0 ? 'warming up' : `round ${round} of ${bench.rounds}`;
    bench.say(`${name}: baseline`);
    const ofBaseline = await baseline();
    bench.say(`${name}: product`);
    const ofProduct = await product();
    if (round > 0) rounds.push({ product: ofProduct, baseline: ofBaseline });
  }
  return rounds;
}

/**
 * The median of the rounds' ratios, and the round that it belongs to.
 * @param of what of a turn is compared
 */
export function middleOf<T>(
  rounds: readonly Round<T>[],
  of: (turn: T) => number,
): Round<T> & { ratio: number } {
  const compared = rounds.map((round) => ({ ratio: of(round.product) / of(round.baseline), ...round }));
  compared.sort((a, b) => a.ratio - b.ratio);
  const middle = compared[(compared.length - 1) >> 1];
  if (middle === undefined) throw new Error('a row without rounds measures nothing');
  return middle;
}

/** Takes the turns. @returns their middle round */
export async function inTurns<T>(
  bench: Pick<Bench, 'rounds' | 'say'>,
  { of, ...turns }: Turns<T> & { of: (turn: T) => number },
): Promise<Round<T> & { ratio: number }> {
  return middleOf(await takeTurns(bench, turns), of);
}
