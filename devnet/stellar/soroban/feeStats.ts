/**
 * `getFeeStats`: the inclusion fees paid in the last ledgers.
 */
import type { Chain } from './chain.ts';
import { isSoroban } from './envelopes.ts';
import { inclusionFee, operationCount } from './validity.ts';

/** Ledgers that the statistics cover. */
const WINDOW = 50;
const PERCENTILES = [10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99];

export function feeStats(chain: Chain, latest: number): unknown {
  const recent = chain.history
    .transactions()
    .filter(({ ledger }) => ledger.sequence > latest - WINDOW && ledger.sequence <= latest)
    .map(({ transaction }) => transaction);
  const rates = (soroban: boolean) =>
    recent
      .filter(({ operations }) => operations.some(isSoroban) === soroban)
      .map((transaction) => inclusionFee(transaction) / operationCount(transaction));
  return {
    sorobanInclusionFee: distribution(rates(true), chain.inclusionPrice()),
    inclusionFee: distribution(rates(false), chain.inclusionPrice()),
    latestLedger: latest,
  };
}

/** Without any payment, the minimum stands for all values. */
function distribution(paid: bigint[], price: bigint): Record<string, string | number> {
  const sorted = paid.length === 0 ? [price] : paid.toSorted((a, b) => Number(a - b));
  const at = (percent: number) => String(sorted[Math.floor(((sorted.length - 1) * percent) / 100)]);
  const counts = new Map<bigint, number>();
  for (const fee of sorted) counts.set(fee, (counts.get(fee) ?? 0) + 1);
  const [mode] = [...counts].toSorted(([, a], [, b]) => b - a)[0] ?? [price];
  return {
    max: at(100),
    min: at(0),
    mode: String(mode),
    ...Object.fromEntries(PERCENTILES.map((percent) => [`p${percent}`, at(percent)])),
    transactionCount: String(paid.length),
    ledgerCount: WINDOW,
  };
}
