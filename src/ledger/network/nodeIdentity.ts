/**
 * Verifies that a node belongs to the configured network. A node of another network would answer every question
 * wrongly: what landed would seem not to have, and would be done twice.
 */
import { readBounded } from '../../lib/boundedAnswer.ts';
import { messageWithCause } from '../../lib/errors.ts';
import { createPause } from '../../lib/retryAfter.ts';
import { shareRun } from '../../lib/sharedRuns.ts';
import { NetworkUnavailable, type LedgerNetwork } from './port.ts';
import { wrapQuestions } from './wrapNetwork.ts';

/** The node belongs to another network than the configured one, or the configuration does not fit what is there. */
export class WrongNetwork extends Error {
  override readonly name = 'WrongNetwork';
}

/** @throws WrongNetwork, NetworkUnavailable */
export type CheckIdentity = () => Promise<void>;

/** The answer is one line of JSON. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** How soon a node that was replaced by one of another network is noticed. */
const BELIEVED_MS = 60_000;

export interface NodeOptions {
  rpcUrl: string;
  requestTimeoutMs: number;
}

/**
 * Wraps a network so that no question is asked before its node was verified, and again every minute. A server can so
 * start while its node is down, and never uses a wrong one.
 */
export function askOnlyOwnNode(
  network: LedgerNetwork,
  check: CheckIdentity,
  nowMs: () => number,
): LedgerNetwork {
  let seenAtMs = Number.NEGATIVE_INFINITY;

  const look = shareRun(async () => {
    try {
      await check();
      seenAtMs = nowMs();
    } catch (error) {
      // Then the configured network is unknown, which may pass by itself.
      throw error instanceof WrongNetwork ? new NetworkUnavailable(error.message, { cause: error }) : error;
    }
  });

  return wrapQuestions(network, async (question) => {
    if (nowMs() - seenAtMs >= BELIEVED_MS) await look();
    return question();
  });
}

/** The answer to one question. @throws NetworkUnavailable */
export type AskNode = (method: string, params?: readonly string[]) => Promise<unknown>;

/** Before any library of the network is loaded. While the node wants to be left alone, it is not asked. */
export function createAskNode(node: NodeOptions): AskNode {
  const pause = createPause(Date.now);
  return (method, params) => askNode(node, pause, method, params);
}

async function askNode(
  node: NodeOptions,
  pause: ReturnType<typeof createPause>,
  method: string,
  params?: readonly string[],
): Promise<unknown> {
  try {
    pause.requireOver();
    const response = await fetch(node.rpcUrl, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(node.requestTimeoutMs),
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    pause.note(response);
    const answer = JSON.parse(await readBounded(response, MAX_ANSWER_BYTES)) as {
      result?: unknown;
      error?: { message?: unknown };
    };
    if (answer.result === undefined) throw new Error(`it said ${JSON.stringify(answer.error ?? answer)}`);
    return answer.result;
  } catch (error) {
    throw new NetworkUnavailable(
      `The node at ${hostOf(node)} could not be asked (${method}): ${messageWithCause(error)}`,
      { cause: error },
    );
  }
}

/** Without the path: it may hold a provider's key. */
export function hostOf({ rpcUrl }: NodeOptions): string {
  return new URL(rpcUrl).host;
}
