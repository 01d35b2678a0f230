/**
 * Another account's transaction lands at a price per operation that is too high for the waiting ones.
 */
import { Address, Keypair, nativeToScVal } from '@stellar/stellar-sdk';
import { invoke, type StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

export async function othersPay({ devnet, custody }: StellarTestbed, price: number): Promise<void> {
  const payer = Keypair.random();
  devnet.fund(payer.publicKey());
  devnet.controls.setInclusionPrice(price);
  const addresses = [payer, custody].map((key) => new Address(key.publicKey()).toScVal());
  const amount = nativeToScVal(1n, { type: 'i128' });
  await invoke(devnet, payer, devnet.nativeAsset, 'transfer', [...addresses, amount], price);
}
