/** The transparency logs alone, against their signed heads. */
import { readyLogs, type LogDependencies } from '../../../src/reconciliation/reconcileLogs.ts';
import type { Comparison } from '../../../src/reconciliation/verdicts.ts';

export async function reconcileLogs(deps: LogDependencies): Promise<Comparison> {
  const { unlogged, compare } = await readyLogs(deps);
  return { ...unlogged, findings: await deps.db.transaction(compare, { isolationLevel: 'repeatable read' }) };
}
