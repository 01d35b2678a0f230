/**
 * Which Stellar network a node belongs to: its passphrase tells.
 */
import { askNode, hostOf, WrongNetwork, type CheckIdentity, type NodeOptions } from '../nodeIdentity.ts';

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
