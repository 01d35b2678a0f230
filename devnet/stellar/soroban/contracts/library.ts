/**
 * The contracts' code, found by the hash of what would be its WebAssembly.
 */
import { hash, xdr } from '@stellar/stellar-sdk';
import type { CodeLibrary, ContractCode } from '../host.ts';
import { factoryCodes } from './factories.ts';
import { nativeAssetCode } from './nativeAsset.ts';
import { settlementCode } from './settlements.ts';
import type { DepositAuth } from './settlements.ts';
import { tokenCodes } from './tokens.ts';

export const CODE_KINDS = [
  'token-factory',
  'settlement-factory',
  'carbon-credit',
  'commodity',
  'settlement',
] as const;

export function createLibrary(options: { depositAuth: DepositAuth }): CodeLibrary {
  const library: CodeLibrary = {
    hashOf: (kind) => hash(wasmOf(kind)),
    codeOf: (codeHash) => codes.get(codeHash) ?? null,
  };
  const { tokenFactory, settlementFactory } = factoryCodes(library);
  const { carbonCredit, commodity } = tokenCodes(library);
  const codes = new Map<string, ContractCode>([
    ['native', nativeAssetCode()],
    [hexHash('token-factory'), tokenFactory],
    [hexHash('settlement-factory'), settlementFactory],
    [hexHash('carbon-credit'), carbonCredit],
    [hexHash('commodity'), commodity],
    [hexHash('settlement'), settlementCode(library, options.depositAuth)],
  ]);
  return library;
}

/** The uploaded code as a ledger entry. */
export function codeEntry(kind: string): xdr.LedgerEntryData {
  const code = wasmOf(kind);
  return xdr.LedgerEntryData.contractCode(
    new xdr.ContractCodeEntry({ ext: new xdr.ContractCodeEntryExt(0), hash: hash(code), code }),
  );
}

/** A module that is valid and empty, told apart by a custom section with the kind's name. */
function wasmOf(kind: string): Buffer {
  const name = Buffer.from(kind);
  const header = Buffer.from([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]);
  return Buffer.concat([header, Buffer.from([0x00, name.length + 1, name.length]), name]);
}

function hexHash(kind: string): string {
  return hash(wasmOf(kind)).toString('hex');
}
