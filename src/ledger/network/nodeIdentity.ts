/**
 * Which network a node belongs to, in its own words. A node of another network would answer every question,
 * wrongly: what landed on ours never happened there, and would be done a second time.
 */
import { readBounded } from '../../boundedAnswer.ts';
import { messageOf } from '../../errors.ts';
import { NetworkUnavailable, type LedgerNetwork } from './port.ts';

/** The node answers, and is of another network than the configured one. */
export class WrongNetwork extends Error {
  override readonly name = 'WrongNetwork';
}

/** @throws WrongNetwork, NetworkUnavailable */
export type CheckIdentity = () => Promise<void>;

/** An answer is a line of JSON. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** A name that leads to another node later is noticed this soon. */
const BELIEVED_MS = 60_000;

export interface NodeOptions {
  rpcUrl: string;
  requestTimeoutMs: number;
}

export function stellarIdentityCheck(node: NodeOptions & { passphrase: string }): CheckIdentity {
  return async () => {
    const answer = await askNode(node, 'getNetwork');
    const told = (answer as { passphrase?: unknown } | null)?.passphrase;
    if (told === node.passphrase) return;
    throw new WrongNetwork(
      `The node at ${hostOf(node)} is of the network ${JSON.stringify(told)}, but ${JSON.stringify(node.passphrase)} ` +
        'is configured. Correct LEDGER_RPC_URL, or LEDGER_NETWORK and LEDGER_PASSPHRASE.',
    );
  };
}

export function evmIdentityCheck(node: NodeOptions & { chainId: number }): CheckIdentity {
  return async () => {
    const told = await askNode(node, 'eth_chainId');
    if (typeof told === 'string' && Number(told) === node.chainId) return;
    const shown = typeof told === 'string' ? Number(told) : JSON.stringify(told);
    throw new WrongNetwork(
      `The node at ${hostOf(node)} is of chain ${shown}, but LEDGER_CHAIN_ID is ${node.chainId}. ` +
        'Correct LEDGER_RPC_URL or LEDGER_CHAIN_ID.',
    );
  };
}

/**
 * The same network, of which nothing is asked before its node was seen to belong to it, and again every minute.
 * A server can so start while its node is away, and never listens to a wrong one.
 */
export function askOnlyOwnNode(
  network: LedgerNetwork,
  check: CheckIdentity,
  nowMs: () => number,
): LedgerNetwork {
  let seenAtMs = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | null = null;

  async function look(): Promise<void> {
    try {
      await check();
      seenAtMs = nowMs();
    } catch (error) {
      // Nothing is known of our network then; it may come back by itself.
      throw error instanceof WrongNetwork ? new NetworkUnavailable(error.message, { cause: error }) : error;
    } finally {
      looking = null;
    }
  }

  const guarded =
    (method: (...args: unknown[]) => Promise<unknown>) =>
    async (...args: unknown[]) => {
      if (nowMs() - seenAtMs >= BELIEVED_MS) await (looking ??= look());
      return method(...args);
    };
  const entries = Object.entries(network).map(([name, value]) =>
    typeof value === 'function' && !ASKS_NOBODY.has(name) ? [name, guarded(value)] : [name, value],
  );
  return Object.fromEntries(entries) as LedgerNetwork;
}

const ASKS_NOBODY: ReadonlySet<string> = new Set<keyof LedgerNetwork>([
  'normalizeAddress',
  'hashAssetId',
  'predictTokenAddress',
]);

async function askNode(node: NodeOptions, method: string): Promise<unknown> {
  try {
    const response = await fetch(node.rpcUrl, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(node.requestTimeoutMs),
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
    });
    const answer = JSON.parse(await readBounded(response, MAX_ANSWER_BYTES)) as {
      result?: unknown;
      error?: { message?: unknown };
    };
    if (answer.result === undefined) throw new Error(`it said ${JSON.stringify(answer.error ?? answer)}`);
    return answer.result;
  } catch (error) {
    throw new NetworkUnavailable(
      `The node at ${hostOf(node)} could not be asked (${method}): ${explain(error)}`,
      { cause: error },
    );
  }
}

/** Without the path: it may hold a provider's key. */
function hostOf({ rpcUrl }: NodeOptions): string {
  return new URL(rpcUrl).host;
}

function explain(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${messageOf(error.cause)})` : '';
  return messageOf(error) + cause;
}
