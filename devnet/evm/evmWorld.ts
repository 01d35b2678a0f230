/**
 * The product on a real EVM chain: anvil with the test contracts, and the double of an indexer.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { bytesToHex, encodeFunctionData, parseAbi, parseEther, toHex, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { EvmLedger } from '../../src/ledger/network/evm/settings.ts';
import { startAnvil, type Anvil, type AnvilOptions } from './anvil.ts';
import { deployContracts } from './deploy.ts';
import { startEvmIndexer } from './indexer.ts';
import type { Holder, NetworkWorld } from '../world.ts';

/** A block is there within a second or two. */
const MAX_LOOKS = 200;
const LOOK_EVERY_MS = 50;

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
      secretKey: custody.secretKey,
      factoryAddress: contracts.factoryAddress,
      settlementFactoryAddress: contracts.settlementFactoryAddress,
      settlementAddress: contracts.settlementAddress,
      // A block for each transaction, and no reorg unless a test makes one.
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
      sendAs(
        node,
        custody.address,
        to,
        encodeFunctionData({ abi, functionName: paused ? 'pause' : 'unpause' }),
      ),
    async transferFromCustody(tokenAddress, to, amount) {
      const nonce = await node.rpc('eth_getTransactionCount', [custody.address, 'latest']);
      const args = [to as Hex, amount] as const;
      await sendAs(
        node,
        custody.address,
        tokenAddress,
        encodeFunctionData({ abi, functionName: 'transfer', args }),
      );
      // The product must not learn of it, and another signature would be one too many.
      await node.rpc('anvil_setNonce', [custody.address, nonce]);
    },
    advanceClock: (seconds) => node.advanceTime(seconds),
    async close() {
      await indexer.stop();
      await node.stop();
    },
  };
}

/** The node holds custody's key itself. */
async function sendAs(node: Anvil, from: string, to: string, data: Hex): Promise<void> {
  const hash = await node.rpc('eth_sendTransaction', [{ from, to, data }]);
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    const receipt = (await node.rpc('eth_getTransactionReceipt', [hash])) as { status: string } | null;
    if (receipt?.status === '0x1') return;
    if (receipt) break;
    await delay(LOOK_EVERY_MS);
  }
  throw new Error(`${data.slice(0, 10)} at ${to} did not land`);
}

async function createHolder(node: Anvil): Promise<Holder> {
  const account = privateKeyToAccount(bytesToHex(randomBytes(32)));
  await node.rpc('anvil_setBalance', [account.address, toHex(parseEther('10'))]);
  return {
    address: account.address,
    async sign({ payload }) {
      const call = JSON.parse(payload) as {
        chainId: number;
        to: Hex;
        data: Hex;
        value: string;
        nonce: number | string;
        gas: string;
        maxFeePerGas: string;
        maxPriorityFeePerGas: string;
      };
      return account.signTransaction({
        type: 'eip1559',
        chainId: call.chainId,
        to: call.to,
        data: call.data,
        value: BigInt(call.value),
        nonce: Number(call.nonce),
        gas: BigInt(call.gas),
        maxFeePerGas: BigInt(call.maxFeePerGas),
        maxPriorityFeePerGas: BigInt(call.maxPriorityFeePerGas),
      });
    },
  };
}
