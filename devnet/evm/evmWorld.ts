/**
 * The product on a real EVM chain: anvil with the test contracts, and the double of an indexer.
 */
import { randomBytes } from 'node:crypto';
import { bytesToHex, encodeFunctionData, parseAbi, parseEther, toHex, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { EvmLedger } from '../../src/ledger/network/evm/settings.ts';
import type { EvmCallPayload } from '../../src/ledger/network/evm/wallets.ts';
import { startAnvil, type Anvil, type AnvilOptions } from './anvil.ts';
import { deployContracts } from './deploy.ts';
import { startEvmIndexer } from './indexer.ts';
import { landTransaction } from './landTransaction.ts';
import type { Holder, NetworkWorld } from '../world.ts';

const abi = parseAbi([
  'function pause()',
  'function unpause()',
  'function transfer(address to, uint256 amount) returns (bool)',
]);

export interface EvmWorld extends NetworkWorld {
  ledger: EvmLedger;
  node: Anvil;
}

export interface EvmWorldOptions extends Pick<AnvilOptions, 'mining' | 'stateFile'> {
  ledger?: Partial<EvmLedger>;
}

export async function startEvmWorld({ ledger, ...nodeOptions }: EvmWorldOptions = {}): Promise<EvmWorld> {
  const node = await startAnvil(nodeOptions);
  const [deployer, custody] = node.accounts;
  if (!custody) throw new Error('the node has too few accounts');
  const contracts = await deployContracts(node, { deployer, custodyAddress: custody.address });
  const indexer = await startEvmIndexer(node);
  return {
    node,
    ledger: {
      family: 'evm',
      name: 'evm',
      rpcUrl: node.url,
      chainId: node.chainId,
      firstBlock: 0n,
      secretKey: custody.secretKey,
      factoryAddress: contracts.factoryAddress,
      settlementFactoryAddress: contracts.settlementFactoryAddress,
      settlementAddress: contracts.settlementAddress,
      // The node closes a block for each transaction, and reorganises only in tests.
      finality: { confirmations: 0 },
      maxFeePerGasCap: 500n * 10n ** 9n,
      maxDeploymentFee: 10n ** 17n,
      errorAbiFile: undefined,
      maxOpenPerAccount: 32,
      requestTimeoutMs: 10_000,
      ...ledger,
    },
    indexerUrl: indexer.url,
    createHolder: () => createHolder(node),
    setPaused: (to, paused) =>
      landTransaction(node, {
        from: custody.address,
        to,
        data: encodeFunctionData({ abi, functionName: paused ? 'pause' : 'unpause' }),
      }),
    async transferFromCustody(tokenAddress, to, amount) {
      const nonce = await node.rpc('eth_getTransactionCount', [custody.address, 'latest']);
      const args = [to as Hex, amount] as const;
      await landTransaction(node, {
        from: custody.address,
        to: tokenAddress,
        data: encodeFunctionData({ abi, functionName: 'transfer', args }),
      });
      // The product must not learn of the transaction, whose nonce would count as an unknown signature.
      await node.rpc('anvil_setNonce', [custody.address, nonce]);
    },
    advanceClock: (seconds) => node.advanceTime(seconds),
    async close() {
      await indexer.stop();
      await node.stop();
    },
  };
}

async function createHolder(node: Anvil): Promise<Holder> {
  const account = privateKeyToAccount(bytesToHex(randomBytes(32)));
  await node.rpc('anvil_setBalance', [account.address, toHex(parseEther('10'))]);
  return {
    address: account.address,
    async sign({ payload }) {
      const { to, data, ...call } = JSON.parse(payload) as EvmCallPayload;
      return account.signTransaction({
        type: 'eip1559',
        chainId: Number(call.chainId),
        to,
        data,
        value: BigInt(call.value),
        nonce: Number(call.nonce),
        gas: BigInt(call.gas),
        maxFeePerGas: BigInt(call.maxFeePerGas),
        maxPriorityFeePerGas: BigInt(call.maxPriorityFeePerGas),
      });
    },
  };
}
