/**
 * An EVM chain: the port's contract, on a real node that closes a block for each transaction, and on one that
 * closes blocks by the clock and calls them final later.
 */
import { encodeFunctionData, getAddress, parseAbi } from 'viem';
import type { Address } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { randomBytes } from 'node:crypto';
import { createEvmNetwork } from '../../../src/ledger/network/evm/network.ts';
import type { FinalitySetting } from '../../../src/ledger/network/evm/finality.ts';
import { startAnvil } from '../../../devnet/evm/anvil.ts';
import type { Anvil, AnvilAccount, AnvilOptions } from '../../../devnet/evm/anvil.ts';
import { deployContracts } from '../../../devnet/evm/deploy.ts';
import { EVM_LIMITS } from '../../support/evm/testbed.ts';
import { describeLedgerNetwork } from '../suite/network.ts';

const pausableAbi = parseAbi(['function pause()', 'function unpause()']);

const traits = { bytesExpire: false, addressesArePredicted: false };

function describeOn(name: string, chain: AnvilOptions, finality: FinalitySetting, multicall: boolean): void {
  describeLedgerNetwork(name, traits, async () => {
    const anvil = await startAnvil(chain);
    const [custody, other, deployer] = anvil.accounts as [AnvilAccount, AnvilAccount, AnvilAccount];
    const contracts = await deployContracts(anvil, { deployer, custodyAddress: custody.address, multicall });
    const open = ({ secretKey }: AnvilAccount) =>
      createEvmNetwork({
        name: 'evm',
        rpcUrl: anvil.url,
        chainId: anvil.chainId,
        secretKey,
        ...contracts,
        finality,
        ...EVM_LIMITS,
        maxOpenPerAccount: 32,
      });
    return {
      network: await open(custody),
      twin: await open(custody),
      stranger: await open(other),
      freshAddress: () => privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`).address,
      advanceClock: async (seconds) => {
        await anvil.advanceTime(seconds);
        await markDead(anvil);
      },
      setPaused: (address, paused) => setPaused(anvil, custody.address, getAddress(address), paused),
      close: () => anvil.stop(),
    };
  });
}

/** Closes as many blocks as the settings of this file require before a block is final. */
async function markDead(anvil: Anvil): Promise<void> {
  await anvil.mine(3);
}

/** Pauses in a transaction that the node signs; custody is the pauser of the contracts that it deployed. */
async function setPaused(anvil: Anvil, from: Address, to: Address, paused: boolean): Promise<void> {
  const data = encodeFunctionData({ abi: pausableAbi, functionName: paused ? 'pause' : 'unpause' });
  await anvil.rpc('eth_sendTransaction', [{ from, to, data, gas: '0x30d40' }]);
  await markDead(anvil);
}

describeOn('evm, a block for each transaction', {}, { confirmations: 0 }, true);
describeOn(
  'evm, blocks by the clock, final when the chain says so, no multicall',
  { mining: { everySeconds: 0.1 } },
  'finalized',
  false,
);
