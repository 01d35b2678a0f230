/**
 * A transaction that the node signs with its own key, for acts of people outside the platform.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Hex } from 'viem';
import type { Anvil } from './anvil.ts';

/** A block comes within a second or two. */
const MAX_LOOKS = 200;
const LOOK_EVERY_MS = 50;

interface NodeTransaction {
  from: string | undefined;
  to: string | undefined;
  data?: Hex;
  nonce?: Hex;
  gas?: Hex;
}

/**
 * Resolves when the transaction is in a block, a moment after the node's answer.
 * @throws Error when it is reverted, or never in a block
 */
export async function landTransaction(node: Pick<Anvil, 'rpc'>, transaction: NodeTransaction): Promise<void> {
  const hash = await node.rpc('eth_sendTransaction', [transaction]);
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    const receipt = (await node.rpc('eth_getTransactionReceipt', [hash])) as { status: string } | null;
    if (receipt?.status === '0x1') return;
    if (receipt) break;
    await delay(LOOK_EVERY_MS);
  }
  throw new Error(`${transaction.data?.slice(0, 10) ?? 'the transfer'} at ${transaction.to} did not land`);
}
