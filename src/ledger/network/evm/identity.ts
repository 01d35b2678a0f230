/**
 * Which EVM chain a node belongs to: its chain id tells.
 */
import { askNode, hostOf, WrongNetwork, type CheckIdentity, type NodeOptions } from '../nodeIdentity.ts';

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
