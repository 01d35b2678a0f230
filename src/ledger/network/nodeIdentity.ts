/**
 * Verifies that a node belongs to the configured network. A node of another network would answer every
 * question wrongly: landed transactions would seem missing, and would be repeated.
 */
import { messageOf } from '../../lib/errors.ts';
import { singleFlight } from '../../lib/singleFlight.ts';
import { NetworkUnavailable, type LedgerNetwork } from './port.ts';
import { wrapQuestions } from './wrapNetwork.ts';

/**
 * The node belongs to another network than the configured one, or the configuration does not fit the network.
 */
export class WrongNetwork extends Error {
  override readonly name = 'WrongNetwork';
}

/** @throws WrongNetwork, NetworkUnavailable */
export type CheckIdentity = () => Promise<void>;

/** How soon a node that was replaced by one of another network is noticed. */
const BELIEVED_MS = 60_000;

export interface NodeOptions {
  rpcUrl: string;
  requestTimeoutMs: number;
}

/**
 * Wraps a network so that its node is verified before the first question, and again every minute. A server
 * can thus start while its node is down, and never uses a wrong node.
 */
export function askOnlyOwnNode(
  network: LedgerNetwork,
  check: CheckIdentity,
  nowMs: () => number,
): LedgerNetwork {
  let seenAtMs = Number.NEGATIVE_INFINITY;

  const look = singleFlight(async () => {
    try {
      await check();
      seenAtMs = nowMs();
    } catch (error) {
      // Nothing is known of the configured network then, which may be temporary.
      throw error instanceof WrongNetwork ? new NetworkUnavailable(error.message, { cause: error }) : error;
    }
  });

  return wrapQuestions(network, async (question) => {
    if (nowMs() - seenAtMs >= BELIEVED_MS) await look();
    return question();
  });
}

/**
 * A check that fails with NetworkUnavailable, which names the node, unless the node belongs to another
 * network.
 * @param check asks the node, and throws WrongNetwork for its answer
 */
export function checkOf(node: NodeOptions, check: () => Promise<void>): CheckIdentity {
  return async () => {
    try {
      await check();
    } catch (error) {
      if (error instanceof WrongNetwork) throw error;
      throw new NetworkUnavailable(
        `Which network the node at ${hostOf(node)} belongs to could not be checked: ${messageOf(error)}`,
        { cause: error },
      );
    }
  };
}

/** Without the path: it may hold a provider's key. */
export function hostOf({ rpcUrl }: NodeOptions): string {
  return new URL(rpcUrl).host;
}
