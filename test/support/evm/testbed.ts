/**
 * An EVM node with the contracts, and the product's adapters for custody and for a stranger, for tests of
 * behaviour that only this family of networks has.
 */
import { createEvmNetwork } from '../../../src/ledger/network/evm/network.ts';
import type { EvmNetwork } from '../../../src/ledger/network/evm/network.ts';
import type { EvmNetworkOptions } from '../../../src/ledger/network/evm/options.ts';
import { startAnvil } from '../../../devnet/evm/anvil.ts';
import type { Anvil, AnvilAccount, AnvilOptions } from '../../../devnet/evm/anvil.ts';
import { deployContracts } from '../../../devnet/evm/deploy.ts';
import type { DeployedContracts } from '../../../devnet/evm/deploy.ts';
import { startFaultyNode } from '../../../devnet/evm/faultyNode.ts';
import type { FaultyNode } from '../../../devnet/evm/faultyNode.ts';

export const GWEI = 10n ** 9n;

/** The settings' defaults. */
export const EVM_LIMITS = {
  firstBlock: 0n,
  maxFeePerGasCap: 200n * GWEI,
  maxDeploymentFee: 10n ** 17n,
  errorAbiFile: undefined,
  maxOpenPerAccount: 16,
  requestTimeoutMs: 10_000,
};

export interface EvmTestbed {
  anvil: Anvil;
  contracts: DeployedContracts;
  custody: AnvilAccount;
  stranger: AnvilAccount;
  deployer: AnvilAccount;
  /** A proxy in front of the node; adapters use it unless they get another address. */
  faulty: FaultyNode;
  open(options?: Partial<EvmNetworkOptions>): Promise<EvmNetwork>;
  close(): Promise<void>;
}

export async function startEvmTestbed(
  options: AnvilOptions & { finality?: EvmNetworkOptions['finality'] } = {},
): Promise<EvmTestbed> {
  const { finality = { confirmations: 0 }, ...chain } = options;
  const anvil = await startAnvil(chain);
  const [custody, stranger, deployer] = anvil.accounts as [AnvilAccount, AnvilAccount, AnvilAccount];
  const contracts = await deployContracts(anvil, { deployer, custodyAddress: custody.address });
  const faulty = await startFaultyNode(anvil.url);
  return {
    anvil,
    contracts,
    custody,
    stranger,
    deployer,
    faulty,
    open: (own = {}) =>
      createEvmNetwork({
        name: 'evm',
        rpcUrl: faulty.url,
        chainId: anvil.chainId,
        secretKey: custody.secretKey,
        factoryAddress: contracts.factoryAddress,
        settlementFactoryAddress: contracts.settlementFactoryAddress,
        settlementAddress: contracts.settlementAddress,
        finality,
        ...EVM_LIMITS,
        // The delay before a reorganisation is confirmed has its own tests.
        reorgConfirmedAfterMs: 0,
        ...own,
      }),
    async close() {
      await faulty.close();
      await anvil.stop();
    },
  };
}
