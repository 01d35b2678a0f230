/**
 * Signs as a holder's wallet does on Stellar.
 */
import { Keypair, TransactionBuilder } from '@stellar/stellar-sdk';
import { signTransaction } from './signing.ts';

/** @throws Error if the key is no seed, or the payload no envelope; the message contains neither */
export function signEnvelope(secretKey: string, payload: string, passphrase: string): string {
  let key: Keypair;
  try {
    key = Keypair.fromSecret(secretKey);
  } catch {
    throw new Error('The secret key is not a Stellar seed (S…).');
  }
  try {
    const transaction = TransactionBuilder.fromXDR(payload, passphrase);
    signTransaction(transaction, [key]);
    return transaction.toXDR();
  } catch {
    throw new Error('The payload is not a Stellar transaction (base64 XDR).');
  }
}
