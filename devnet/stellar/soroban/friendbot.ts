/**
 * The test network's friendbot: makes accounts by transactions of the root account, in a ledger of their own.
 */
import { Account, BASE_FEE, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import type { Keypair } from '@stellar/stellar-sdk';
import { sequenceOf } from './accounts.ts';
import type { Chain } from './chain.ts';
import { accountKey, idOf } from './ledgerKeys.ts';

const STARTING_LUMENS = '10000';

/** The transaction's hash, or null when there is such an account already. */
export function befriend(chain: Chain, root: Keypair, address: string): string | null {
  const accountAt = (owner: string) =>
    chain
      .stateAt(chain.history.latest().sequence)
      .get(idOf(accountKey(owner)))
      ?.data.account();
  if (accountAt(address)) return null;
  const rootAccount = accountAt(root.publicKey());
  if (!rootAccount) throw new Error('The root account is gone');
  const source = new Account(root.publicKey(), String(sequenceOf(rootAccount)));
  const transaction = new TransactionBuilder(source, {
    fee: BASE_FEE,
    networkPassphrase: chain.passphrase,
    timebounds: { minTime: 0, maxTime: 0 },
  })
    .addOperation(Operation.createAccount({ destination: address, startingBalance: STARTING_LUMENS }))
    .build();
  transaction.sign(root);
  const opened = chain.open(transaction.toXDR());
  if (!opened || chain.submit(opened).status !== 'PENDING') throw new Error('The friendbot was refused');
  chain.closeLedger();
  return opened.hash;
}
