/**
 * Keys of ledger entries, and what Soroban derives: contract ids, the ids of keys in maps, kinds of keys.
 */
import { Address, hash, Keypair, xdr } from '@stellar/stellar-sdk';

/** A ledger key as base64 XDR: what entries are stored under. */
export type EntryId = string;

export const INSTANCE = xdr.ScVal.scvLedgerKeyContractInstance();
const PERSISTENT = xdr.ContractDataDurability.persistent();
const TEMPORARY = xdr.ContractDataDurability.temporary();

export function idOf(key: xdr.LedgerKey): EntryId {
  return key.toXDR('base64');
}

export function accountKey(address: string): xdr.LedgerKey {
  return xdr.LedgerKey.account(
    new xdr.LedgerKeyAccount({ accountId: Keypair.fromPublicKey(address).xdrAccountId() }),
  );
}

export function dataKey(
  contract: string,
  key: xdr.ScVal,
  durability: xdr.ContractDataDurability = PERSISTENT,
): xdr.LedgerKey {
  return xdr.LedgerKey.contractData(
    new xdr.LedgerKeyContractData({ contract: new Address(contract).toScAddress(), key, durability }),
  );
}

export function instanceKey(contract: string): xdr.LedgerKey {
  return dataKey(contract, INSTANCE);
}

export function codeKey(wasmHash: Buffer): xdr.LedgerKey {
  return xdr.LedgerKey.contractCode(new xdr.LedgerKeyContractCode({ hash: wasmHash }));
}

/** Where a used nonce of an address is kept. */
export function nonceKey(address: string, nonce: xdr.Int64): xdr.LedgerKey {
  const key = xdr.ScVal.scvLedgerKeyNonce(new xdr.ScNonceKey({ nonce }));
  return dataKey(address, key, TEMPORARY);
}

/** How the host names a key in its errors. */
export function kindOfKey(key: xdr.LedgerKey): string {
  const type: string = key.switch().name;
  switch (type) {
    case 'contractData': {
      const inner = key.contractData().key().switch().name;
      if (inner === 'scvLedgerKeyContractInstance') return 'contract instance';
      return inner === 'scvLedgerKeyNonce' ? 'nonce' : 'contract data key';
    }
    case 'contractCode':
      return 'contract code';
    case 'account':
      return 'account';
    default:
      return 'ledger key';
  }
}

export function isTemporary(key: xdr.LedgerKey): boolean {
  return key.switch().name === 'contractData' && key.contractData().durability().name === 'temporary';
}

/** Contract data and code have a time to live; accounts have none. */
export function hasTimeToLive(key: xdr.LedgerKey): boolean {
  return key.switch().name === 'contractData' || key.switch().name === 'contractCode';
}

/** The address that a contract deployed by `deployer` (a contract or an account) with `salt` gets. */
export function deployedContract(passphrase: string, deployer: string, salt: Buffer): string {
  return contractIdOf(
    passphrase,
    xdr.ContractIdPreimage.contractIdPreimageFromAddress(
      new xdr.ContractIdPreimageFromAddress({ address: new Address(deployer).toScAddress(), salt }),
    ),
  );
}

function contractIdOf(passphrase: string, preimage: xdr.ContractIdPreimage): string {
  const whole = xdr.HashIdPreimage.envelopeTypeContractId(
    new xdr.HashIdPreimageContractId({
      networkId: hash(Buffer.from(passphrase)),
      contractIdPreimage: preimage,
    }),
  );
  return Address.contract(hash(whole.toXDR())).toString();
}
