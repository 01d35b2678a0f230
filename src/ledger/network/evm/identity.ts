/**
 * Verifies that a node belongs to the configured EVM chain, by its chain id, and that the searches on the
 * chain begin early enough.
 */
import { checkOf, hostOf, WrongNetwork } from '../nodeIdentity.ts';
import type { CheckIdentity, NodeOptions } from '../nodeIdentity.ts';
import { createJsonRpc } from './jsonRpc.ts';

interface Identity extends NodeOptions {
  chainId: number;
  factoryAddress: string;
  settlementFactoryAddress?: string | undefined;
  /** The block at which searches for the factories' deployments begin. */
  firstBlock: bigint;
}

export function evmIdentityCheck(expected: Identity): CheckIdentity {
  const rpc = createJsonRpc({ url: expected.rpcUrl, timeoutMs: expected.requestTimeoutMs });
  // The result is not parsed here: a result that no EVM chain gives shows another network, not a failure.
  const askNode: AskNode = (method, params = []) => rpc.ask({ method, params, read: (shown) => shown });
  return checkOf(expected, async () => {
    await requireChain(askNode, expected);
    await requireYoungFactories(askNode, expected);
  });
}

type AskNode = (method: string, params?: readonly string[]) => Promise<unknown>;

async function requireChain(askNode: AskNode, expected: Identity): Promise<void> {
  const reported = await askNode('eth_chainId');
  if (typeof reported === 'string' && Number(reported) === expected.chainId) return;
  const shown = typeof reported === 'string' ? Number(reported) : JSON.stringify(reported);
  throw new WrongNetwork(
    `The node at ${hostOf(expected)} is of chain ${shown}, but LEDGER_CHAIN_ID is ${expected.chainId}. ` +
      'Correct LEDGER_RPC_URL or LEDGER_CHAIN_ID.',
  );
}

/**
 * If a project's token were older than the first block, the project would seem to have none, and another one
 * would be deployed.
 */
async function requireYoungFactories(askNode: AskNode, expected: Identity): Promise<void> {
  const { factoryAddress, settlementFactoryAddress, firstBlock } = expected;
  if (firstBlock === 0n) return;
  const latest = Number(await askNode('eth_blockNumber'));
  if (!(latest >= Number(firstBlock))) {
    throw new WrongNetwork(
      `The node at ${hostOf(expected)} is at block ${latest}, before block ${firstBlock}, which LEDGER_FIRST_BLOCK names. ` +
        'Correct the setting, unless the node is behind.',
    );
  }
  const blockBefore = `0x${(firstBlock - 1n).toString(16)}`;
  for (const factory of [factoryAddress, settlementFactoryAddress]) {
    if (factory === undefined) continue;
    // A node that does not keep a state that old can't answer; `npm run ledger:check` warns of it.
    const code = await askNode('eth_getCode', [factory, blockBefore]).catch(() => '0x');
    if (code === '0x') continue;
    throw new WrongNetwork(
      `The factory ${factory} is older than block ${firstBlock}, which LEDGER_FIRST_BLOCK names: what it deployed before ` +
        'would not be found. Set it to the block of the deployment of the older factory, or leave it out.',
    );
  }
}
