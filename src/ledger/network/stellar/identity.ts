/**
 * Which Stellar network a node belongs to: its passphrase says.
 */
import {
  createAskNode,
  hostOf,
  WrongNetwork,
  type CheckIdentity,
  type NodeOptions,
} from '../nodeIdentity.ts';

export function stellarIdentityCheck(node: NodeOptions & { passphrase: string }): CheckIdentity {
  const askNode = createAskNode(node);
  return async () => {
    const answer = await askNode('getNetwork');
    const reported = (answer as { passphrase?: unknown } | null)?.passphrase;
    if (reported === node.passphrase) return;
    throw new WrongNetwork(
      `The node at ${hostOf(node)} is of the network ${JSON.stringify(reported)}, but ${JSON.stringify(node.passphrase)} ` +
        'is configured. Correct LEDGER_RPC_URL, or LEDGER_NETWORK and LEDGER_PASSPHRASE.',
    );
  };
}
