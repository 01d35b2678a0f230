/**
 * Which EVM chain a node belongs to: its chain id says.
 */
import { askNode, hostOf, WrongNetwork, type CheckIdentity, type NodeOptions } from '../nodeIdentity.ts';

export function evmIdentityCheck(node: NodeOptions & { chainId: number }): CheckIdentity {
  return async () => {
    const reported = await askNode(node, 'eth_chainId');
    if (typeof reported === 'string' && Number(reported) === node.chainId) return;
    const shown = typeof reported === 'string' ? Number(reported) : JSON.stringify(reported);
    throw new WrongNetwork(
      `The node at ${hostOf(node)} is of chain ${shown}, but LEDGER_CHAIN_ID is ${node.chainId}. ` +
        'Correct LEDGER_RPC_URL or LEDGER_CHAIN_ID.',
    );
  };
}
