/**
 * What holds for every question to a network, said once: an adapter is wrapped, instead of each of its methods.
 */
import { NetworkRefusal, NetworkUnavailable, type LedgerNetwork } from './port.ts';

/** Computed here, at once. */
const NO_QUESTION: keyof LedgerNetwork = 'normalizeAddress';

/** The same network, each of whose questions is put by `put`. */
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
 * The same network, whose failures are the port's: what `explain` has words for is a NetworkUnavailable. The network's own
 * word and questions that are too large stay what they are.
 */
export function explainFailures(
  network: LedgerNetwork,
  explain: (error: unknown) => string | null,
): LedgerNetwork {
  return wrapQuestions(network, async (question) => {
    try {
      return await question();
    } catch (error) {
      const isOfPort = error instanceof NetworkRefusal || error instanceof NetworkUnavailable;
      const message = isOfPort || error instanceof RangeError ? null : explain(error);
      throw message === null ? error : new NetworkUnavailable(message, { cause: error });
    }
  });
}
