/**
 * Wraps all methods of an adapter that ask the network, so that a rule for every question is written once.
 */
import { isNetworkError, NetworkUnavailable, type LedgerNetwork } from './port.ts';

/** This method is synchronous and asks nothing. */
const NO_QUESTION: keyof LedgerNetwork = 'normalizeAddress';

/** Returns the same network, with each question put by `put`. */
export function wrapQuestions(
  network: LedgerNetwork,
  put: (question: () => Promise<unknown>) => Promise<unknown>,
): LedgerNetwork {
  const entries = Object.entries(network).map(([name, value]: [string, unknown]) => {
    if (typeof value !== 'function' || name === NO_QUESTION) return [name, value];
    const method = value as (...args: unknown[]) => Promise<unknown>;
    return [name, (...args: unknown[]) => put(async () => method(...args))];
  });
  return Object.fromEntries(entries) as LedgerNetwork;
}

/**
 * Returns the same network, with failures thrown as NetworkUnavailable. The port's own errors and questions
 * that are too large (RangeError) stay as they are.
 */
export function explainFailures(network: LedgerNetwork, explain: (error: unknown) => string): LedgerNetwork {
  return wrapQuestions(network, async (question) => {
    try {
      return await question();
    } catch (error) {
      if (isNetworkError(error) || error instanceof RangeError) throw error;
      throw new NetworkUnavailable(explain(error), { cause: error });
    }
  });
}
