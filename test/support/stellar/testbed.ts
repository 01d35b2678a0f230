/**
 * A simulator whose ledgers close by hand, with a custody account and a carbon token that it has minted.
 */
import { Keypair } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import { carbonDeployArguments, createTestClient } from './client.ts';
import type { TestClient } from './client.ts';
import { address, i128, string } from '../../../devnet/stellar/soroban/values.ts';
import { startSorobanSimulator } from '../../../devnet/stellar/startSorobanSimulator.ts';
import type {
  SorobanSimulator,
  SorobanSimulatorOptions,
} from '../../../devnet/stellar/startSorobanSimulator.ts';

export interface SorobanTestbed {
  simulator: SorobanSimulator;
  client: TestClient;
  custody: Keypair;
  token: string;
  /** An account with lumens. */
  account(): Keypair;
}

export const SALT = `0x${'11'.repeat(32)}`;
export const MINTED = 1_000n;

export async function startSorobanTestbed(options: SorobanSimulatorOptions = {}): Promise<SorobanTestbed> {
  const simulator = await startSorobanSimulator({ closeEveryMs: null, ...options });
  const client = createTestClient(simulator);
  const account = () => {
    const keys = Keypair.random();
    simulator.fund(keys.publicKey());
    return keys;
  };
  const custody = account();
  const deployer = custody.publicKey();
  const deploy = carbonDeployArguments(simulator, deployer, SALT);
  const token = String(
    await client.call(custody, simulator.factoryAddress, 'deploy_carbon_credit_token', deploy),
  );
  await client.call(custody, token, 'mint', [address(deployer), i128(MINTED)]);
  return { simulator, client, custody, token, account };
}

export function retireArguments(keys: Keypair, amount: bigint, beneficiary = 'Acme'): xdr.ScVal[] {
  return [address(keys.publicKey()), i128(amount), string(beneficiary), string('for 2024')];
}
