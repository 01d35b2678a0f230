/**
 * Contract values (ScVal) as Soroban's contract types encode them.
 */
import { Address, nativeToScVal, xdr } from '@stellar/stellar-sdk';

export const VOID = xdr.ScVal.scvVoid();

export function string(text: string): xdr.ScVal {
  return xdr.ScVal.scvString(text);
}

export function u32(value: number): xdr.ScVal {
  return xdr.ScVal.scvU32(value);
}

export function u64(value: bigint): xdr.ScVal {
  return xdr.ScVal.scvU64(new xdr.Uint64(value));
}

export function i128(value: bigint): xdr.ScVal {
  return nativeToScVal(value, { type: 'i128' });
}

export function address(strkey: string): xdr.ScVal {
  return new Address(strkey).toScVal();
}

export function bytes32(hex: string): xdr.ScVal {
  return xdr.ScVal.scvBytes(Buffer.from(hex.slice(2), 'hex'));
}

/** The key of a data enum with its fields. */
export function variant(name: string, ...fields: xdr.ScVal[]): xdr.ScVal {
  return xdr.ScVal.scvVec([xdr.ScVal.scvSymbol(name), ...fields]);
}

export function struct(fields: Record<string, xdr.ScVal>): xdr.ScVal {
  const entries = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  return xdr.ScVal.scvMap(
    entries.map(([key, val]) => new xdr.ScMapEntry({ key: xdr.ScVal.scvSymbol(key), val })),
  );
}
