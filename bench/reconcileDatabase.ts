/**
 * Proves that the data of a run is correct: runs `npm run reconcile` on its database.
 */
import { runToEnd } from '../devnet/runToEnd.ts';
import type { Reconciled } from './bench.ts';
import { productEnvironment, type ProductOptions } from './product.ts';

const TIMEOUT_MS = 30 * 60_000;

export async function reconcileDatabase(options: ProductOptions): Promise<Reconciled> {
  const startedMs = performance.now();
  const { exitCode, output } = await runToEnd('build/reconcile.js', productEnvironment(options), TIMEOUT_MS);
  const seconds = (performance.now() - startedMs) / 1000;
  return { database: options.database, holds: exitCode === 0, seconds, output };
}
