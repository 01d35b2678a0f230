/**
 * A row of the benchmark: the product against a baseline, with a target for their ratio.
 */
import type { Bench } from './bench.ts';
import type { HttpResult } from './load/messages.ts';

interface Target {
  /** The ratio must be at least `atLeast`, and at most `atMost`. */
  atLeast?: number;
  atMost?: number;
}

export interface Outcome {
  ratio: number;
  /** Measured values, in the row's unit. */
  product: number;
  baseline: number;
  /** Other measured values for the report, by names that contain their units. */
  details?: Readonly<Record<string, number>>;
}

export interface Row {
  /** The name for `npm run bench -- <name>`. */
  name: string;
  /** Rows of a group share a chart. */
  group: string;
  title: string;
  /** The unit of `product` and `baseline`. */
  unit: string;
  /** Description of the baseline. */
  baseline: string;
  target: Target;
  /** Says why the row can't be measured on this machine; null when it can. */
  skip?(): string | null;
  run(bench: Bench): Promise<Outcome>;
}

export type RowResult = Pick<Row, 'name' | 'group' | 'title' | 'unit' | 'target'> &
  Outcome & { comparedWith: string; isReached: boolean; seconds: number };

export function isReached(ratio: number, { atLeast, atMost }: Target): boolean {
  return (atLeast === undefined || ratio >= atLeast) && (atMost === undefined || ratio <= atMost);
}

/** Three digits, and no decimals from a hundred. */
export function showNumber(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
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

/** One turn of each, directly after each other. */
export interface Round<T> {
  product: T;
  baseline: T;
}

/**
 * Runs baseline and product in turns, so that other load on the machine affects both. The first round does
 * not count, because a server serves some thousands of requests before its code is compiled.
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
 * Returns the round with the median of the rounds' ratios, and that ratio.
 * @param of the value of a turn that is compared
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

/** Takes the turns. @returns the round with the median ratio */
export async function inTurns<T>(
  bench: Pick<Bench, 'rounds' | 'say'>,
  { of, ...turns }: Turns<T> & { of: (turn: T) => number },
): Promise<Round<T> & { ratio: number }> {
  return middleOf(await takeTurns(bench, turns), of);
}

/** Takes turns of requests. @returns the requests a second of the round with the median ratio */
export async function compareRates(
  bench: Pick<Bench, 'rounds' | 'say'>,
  turns: Turns<HttpResult>,
  detailsOf: (product: HttpResult, baseline: HttpResult) => Outcome['details'],
): Promise<Outcome> {
  const { ratio, product, baseline } = await inTurns(bench, { ...turns, of: ({ perSecond }) => perSecond });
  return {
    ratio,
    product: product.perSecond,
    baseline: baseline.perSecond,
    details: detailsOf(product, baseline),
  };
}

interface LimitedRow extends Omit<Row, 'baseline' | 'target' | 'run'> {
  /** In the row's unit. */
  limit: number;
  measure(bench: Bench): Promise<{ value: number; details?: Outcome['details'] }>;
}

/** Makes a row about a value of the product that has a limit instead of a baseline. */
export function limitRow({ limit, measure, ...row }: LimitedRow): Row {
  return {
    ...row,
    baseline: `the limit of ${limit} ${row.unit}`,
    target: { atMost: 1 },
    async run(bench) {
      const { value, details } = await measure(bench);
      return { ratio: value / limit, product: value, baseline: limit, ...(details && { details }) };
    },
  };
}
