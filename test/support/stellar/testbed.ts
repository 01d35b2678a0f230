/**
 * A devnet whose ledgers close by hand, with a custody account and a carbon token whose credits custody
 * holds.
 */
import { Keypair } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import { carbonDeployArguments, createTestClient } from './client.ts';
import type { TestClient } from './client.ts';
import { address, i128, string } from './values.ts';
import { startStellarDevnet } from '../../../devnet/stellar/startStellarDevnet.ts';
import type { StellarDevnet, StellarDevnetOptions } from '../../../devnet/stellar/startStellarDevnet.ts';

export interface SorobanTestbed {
  devnet: StellarDevnet;
  client: TestClient;
  custody: Keypair;
  token: string;
  /** An account with lumens. */
  account(): Keypair;
}

export const SALT = `0x${'11'.repeat(32)}`;
export const MINTED = 1_000n;

export async function startSorobanTestbed(options: StellarDevnetOptions = {}): Promise<SorobanTestbed> {
  const devnet = await startStellarDevnet({ closeEveryMs: null, ...options });
  const client = createTestClient(devnet);
  const account = () => {
    const keys = Keypair.random();
    devnet.fund(keys.publicKey());
    return keys;
  };
  const custody = account();
  const deployer = custody.publicKey();
  const deploy = carbonDeployArguments(devnet, deployer, SALT);
  const token = String(
    await client.call(custody, devnet.factoryAddress, 'deploy_carbon_credit_token', deploy),
  );
  await client.call(custody, token, 'mint', [address(deployer), i128(MINTED)]);
  return { devnet, client, custody, token, account };
}

export function retireArguments(keys: Keypair, amount: bigint, beneficiary = 'Acme'): xdr.ScVal[] {
  return [address(keys.publicKey()), i128(amount), string(beneficiary), string('for 2024')];
}
