/**
 * Contract values (ScVal) as Soroban's contract types encode them, both ways. A value of another type is a
 * defect of the caller's encoding: a contract traps on it, so reading throws `WrongType`.
 */
import { Address, nativeToScVal, scValToBigInt, xdr } from '@stellar/stellar-sdk';

export class WrongType extends Error {
  override readonly name = 'WrongType';
}

export const VOID = xdr.ScVal.scvVoid();

export function symbol(text: string): xdr.ScVal {
  return xdr.ScVal.scvSymbol(text);
}

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

export function bool(value: boolean): xdr.ScVal {
  return xdr.ScVal.scvBool(value);
}

export function address(strkey: string): xdr.ScVal {
  return new Address(strkey).toScVal();
}

/** `0x` and 64 hexadecimal digits. */
export function bytes32(hex: string): xdr.ScVal {
  return xdr.ScVal.scvBytes(Buffer.from(hex.slice(2), 'hex'));
}

export function vec(values: xdr.ScVal[]): xdr.ScVal {
  return xdr.ScVal.scvVec(values);
}

/** A unit enum, or the key of a data enum with its fields. */
export function variant(name: string, ...fields: xdr.ScVal[]): xdr.ScVal {
  return vec([symbol(name), ...fields]);
}

export function struct(fields: Record<string, xdr.ScVal>): xdr.ScVal {
  const entries = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  return xdr.ScVal.scvMap(entries.map(([key, val]) => new xdr.ScMapEntry({ key: symbol(key), val })));
}

export function asAddress(value: xdr.ScVal): string {
  if (value.switch().name !== 'scvAddress') throw wrongType('an address', value);
  return Address.fromScVal(value).toString();
}

export function asOptionalAddress(value: xdr.ScVal): string | null {
  return value.switch().name === 'scvVoid' ? null : asAddress(value);
}

export function asI128(value: xdr.ScVal): bigint {
  return asInteger(value, 'scvI128');
}

export function asU64(value: xdr.ScVal): bigint {
  return asInteger(value, 'scvU64');
}

export function asU32(value: xdr.ScVal): number {
  if (value.switch().name !== 'scvU32') throw wrongType('a u32', value);
  return value.u32();
}

export function asBool(value: xdr.ScVal): boolean {
  if (value.switch().name !== 'scvBool') throw wrongType('a bool', value);
  return value.b();
}

export function asString(value: xdr.ScVal): string {
  if (value.switch().name !== 'scvString') throw wrongType('a string', value);
  return Buffer.from(value.str()).toString('utf8');
}

export function asSymbol(value: xdr.ScVal): string {
  if (value.switch().name !== 'scvSymbol') throw wrongType('a symbol', value);
  return Buffer.from(value.sym()).toString('utf8');
}

/** As `0x` and lower-case hexadecimal digits. */
export function asBytes32(value: xdr.ScVal): string {
  if (value.switch().name !== 'scvBytes' || value.bytes().length !== 32) throw wrongType('32 bytes', value);
  return `0x${value.bytes().toString('hex')}`;
}

/** The fields of a struct, which must have exactly these, sorted as a contract's type requires. */
export function asStruct<Name extends string>(
  value: xdr.ScVal,
  names: readonly Name[],
): Record<Name, xdr.ScVal> {
  if (value.switch().name !== 'scvMap') throw wrongType('a struct', value);
  const entries = (value.map() ?? []).map((entry) => [asSymbol(entry.key()), entry.val()] as const);
  const expected = [...names].sort();
  if (entries.length !== expected.length || entries.some(([name], index) => name !== expected[index])) {
    throw new WrongType(
      `Expected a struct of ${expected.join(', ')}, not of ${entries.map(([name]) => name).join(', ')}`,
    );
  }
  return Object.fromEntries(entries) as Record<Name, xdr.ScVal>;
}

/** A struct's values by field, whatever the fields are. */
export function fieldsOf(value: xdr.ScVal): Map<string, xdr.ScVal> {
  if (value.switch().name !== 'scvMap') throw wrongType('a struct', value);
  return new Map((value.map() ?? []).map((entry) => [asSymbol(entry.key()), entry.val()]));
}

/** The name of a unit enum's variant. */
export function asVariant(value: xdr.ScVal): string {
  const [name] = value.switch().name === 'scvVec' ? (value.vec() ?? []) : [];
  if (!name) throw wrongType('an enum', value);
  return asSymbol(name);
}

function asInteger(value: xdr.ScVal, type: string): bigint {
  if (value.switch().name !== type) throw wrongType(type, value);
  return scValToBigInt(value);
}

function wrongType(expected: string, value: xdr.ScVal): WrongType {
  return new WrongType(`Expected ${expected}, not ${value.switch().name}`);
}
