/**
 * Addresses on a Stellar network: their spelling, and the ledger keys derived from them.
 */
import { createHash } from 'node:crypto';
import { Address as SdkAddress, hash, Keypair, StrKey, xdr } from '@stellar/stellar-sdk';
import type { Address, Hash32 } from '../port.ts';

/**
 * Accepts accounts (`G…`) and contracts (`C…`), verified by checksum. A muxed address (`M…`) is a second
 * spelling of an account, so it is refused.
 */
export function normalizeAddress(text: string): Address | null {
  return isAccount(text) || isContract(text) ? text : null;
}

export function isAccount(text: string): boolean {
  return StrKey.isValidEd25519PublicKey(text);
}

export function isContract(text: string): boolean {
  return StrKey.isValidContract(text);
}

/** The key pair of an `S…` seed. @throws Error if the text is no seed; the message never repeats the text */
export function keypairOf(secretKey: string, what: string): Keypair {
  if (!StrKey.isValidEd25519SecretSeed(secretKey)) {
    throw new Error(
      `${what} is not a Stellar secret key: expected "S" and 55 more characters with a valid checksum`,
    );
  }
  return Keypair.fromSecret(secretKey);
}

/** SHA-256 of the UTF-8 text, as the contracts hash asset ids and settlement references. */
export function hashText(text: string): Hash32 {
  return `0x${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}

/**
 * The address of a contract that `deployer` deploys with this salt. It is known before the deploy, and usable
 * once.
 */
export function deployedAddress(passphrase: string, deployer: Address, salt: Hash32): Address {
  const preimage = xdr.HashIdPreimage.envelopeTypeContractId(
    new xdr.HashIdPreimageContractId({
      networkId: hash(Buffer.from(passphrase, 'utf8')),
      contractIdPreimage: xdr.ContractIdPreimage.contractIdPreimageFromAddress(
        new xdr.ContractIdPreimageFromAddress({
          address: new SdkAddress(deployer).toScAddress(),
          salt: bytesOf(salt),
        }),
      ),
    }),
  );
  return StrKey.encodeContract(hash(preimage.toXDR()));
}

export function bytesOf(hash32: Hash32): Buffer {
  return Buffer.from(hash32.slice(2), 'hex');
}

export function accountKey(address: Address): xdr.LedgerKey {
  return xdr.LedgerKey.account(
    new xdr.LedgerKeyAccount({ accountId: Keypair.fromPublicKey(address).xdrAccountId() }),
  );
}

/** The ledger entry that exists exactly while the contract does. */
export function instanceKey(contract: Address): xdr.LedgerKey {
  return contractDataKey(contract, xdr.ScVal.scvLedgerKeyContractInstance());
}

/** The key of a retirement record: the only token entry whose key the interface promises. */
export function retirementKey(token: Address, index: number): xdr.LedgerKey {
  const [key] = retirementKeys(token, index, 1);
  if (!key) throw new RangeError(`There is no place for retirement ${index}`);
  return key;
}

/** The index of the token's retirement record with this key or entry; null for any other key or entry. */
export function retirementIndexOf(
  data: xdr.LedgerKeyContractData | xdr.ContractDataEntry,
  token: Address,
): number | null {
  const parts = data.key();
  const index = parts.switch().name === 'scvVec' ? parts.vec()?.[1] : undefined;
  if (index?.switch().name !== 'scvU32') return null;
  const wanted = retirementKey(token, index.u32()).contractData();
  const isRecord =
    parts.toXDR('base64') === wanted.key().toXDR('base64') &&
    data.contract().toXDR('base64') === wanted.contract().toXDR('base64');
  return isRecord ? index.u32() : null;
}

export function retirementKeys(token: Address, first: number, count: number): xdr.LedgerKey[] {
  // Parsed once for all keys, because parsing an address is expensive.
  const contract = new SdkAddress(token).toScAddress();
  return Array.from({ length: count }, (_, at) =>
    persistentKey(
      contract,
      xdr.ScVal.scvVec([xdr.ScVal.scvSymbol('Retirement'), xdr.ScVal.scvU32(first + at)]),
    ),
  );
}

export function contractDataKey(contract: Address, key: xdr.ScVal): xdr.LedgerKey {
  return persistentKey(new SdkAddress(contract).toScAddress(), key);
}

function persistentKey(contract: xdr.ScAddress, key: xdr.ScVal): xdr.LedgerKey {
  return xdr.LedgerKey.contractData(
    new xdr.LedgerKeyContractData({
      contract,
      key,
      durability: xdr.ContractDataDurability.persistent(),
    }),
  );
}
