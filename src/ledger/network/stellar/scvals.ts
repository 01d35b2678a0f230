/**
 * Converts contract values (ScVal) to and from plain values, and checks the range of each.
 */
import { Address as SdkAddress, nativeToScVal, scValToNative, xdr } from '@stellar/stellar-sdk';
import { storableText } from '../foreignText.ts';
import { type NetworkRefusal, NetworkUnavailable, refused } from '../port.ts';
import type { Address, Hash32, RetirementRecord } from '../port.ts';
import { bytesOf, normalizeAddress } from './addresses.ts';

const MAX_I128 = 2n ** 127n - 1n;
const MIN_I128 = -(2n ** 127n);
const MAX_U64 = 2n ** 64n - 1n;
const MAX_U32 = 2 ** 32 - 1;
const HASH32_PATTERN = /^0x[0-9a-f]{64}$/;

export function addressVal(name: string, address: string): xdr.ScVal {
  if (normalizeAddress(address) === null) throw invalid(name, `"${address}" is not a G… or C… address`);
  return new SdkAddress(address).toScVal();
}

export function i128Val(name: string, value: bigint): xdr.ScVal {
  if (value > MAX_I128 || value < MIN_I128) throw invalid(name, `${value} is outside of i128`);
  return nativeToScVal(value, { type: 'i128' });
}

export function u64Val(name: string, value: bigint): xdr.ScVal {
  if (value > MAX_U64 || value < 0n) throw invalid(name, `${value} is outside of u64`);
  return xdr.ScVal.scvU64(xdr.Uint64.fromString(String(value)));
}

export function u32Val(name: string, value: number): xdr.ScVal {
  if (!Number.isInteger(value) || value < 0 || value > MAX_U32) {
    throw invalid(name, `${value} is outside of u32`);
  }
  return xdr.ScVal.scvU32(value);
}

/** Half a surrogate pair has no UTF-8 form: it would reach the ledger as another character. */
export function textVal(name: string, text: string): xdr.ScVal {
  if (!text.isWellFormed()) throw invalid(name, 'holds half a surrogate pair');
  return xdr.ScVal.scvString(Buffer.from(text, 'utf8'));
}

export function bytes32Val(name: string, hash32: Hash32): xdr.ScVal {
  if (!HASH32_PATTERN.test(hash32)) throw invalid(name, 'is not 0x and 64 lower-case hexadecimal digits');
  return xdr.ScVal.scvBytes(bytesOf(hash32));
}

/** A struct: symbol keys in byte order, as the host requires. */
export function structVal(fields: Record<string, xdr.ScVal>): xdr.ScVal {
  const names = Object.keys(fields).sort((a, b) => (a < b ? -1 : 1));
  return xdr.ScVal.scvMap(
    names.map(
      (name) =>
        new xdr.ScMapEntry({
          key: xdr.ScVal.scvSymbol(name),
          val: fields[name] ?? xdr.ScVal.scvVoid(),
        }),
    ),
  );
}

/** A value in another form than the contracts promise, which proves nothing. */
export class UnexpectedValue extends NetworkUnavailable {
  constructor(problem: string) {
    super(`A contract's answer is not understood: ${problem}`);
  }
}

export function asBigint(value: unknown, what: string): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  throw unexpected(value, what, 'an integer');
}

export function asU32(value: unknown, what: string): number {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= MAX_U32) {
    return number;
  }
  throw unexpected(value, what, 'a u32');
}

export function asBoolean(value: unknown, what: string): boolean {
  if (typeof value === 'boolean') return value;
  throw unexpected(value, what, 'a boolean');
}

export function asAddress(value: unknown, what: string): Address {
  const address = typeof value === 'string' ? normalizeAddress(value) : null;
  if (address === null) throw unexpected(value, what, 'an address');
  return address;
}

/**
 * A struct's text, decoded from its bytes as UTF-8: the SDK's decoder drops a byte order mark, and texts are
 * quoted unchanged.
 */
function textIn(struct: xdr.ScVal, name: string): string {
  const value = struct
    .map()
    ?.find((entry) => plain(entry.key()) === name)
    ?.val();
  const content = value?.value();
  if (typeof content === 'string' || content instanceof Uint8Array)
    return storableText(Buffer.from(content).toString('utf8'));
  throw unexpected(content, name, 'a text');
}

export function asHash32(value: unknown, what: string): Hash32 {
  if (value instanceof Uint8Array && value.length === 32) return `0x${Buffer.from(value).toString('hex')}`;
  throw unexpected(value, what, '32 bytes');
}

/** The name of a unit enum, `ScVec[Symbol("Name")]`, in any of the forms that contracts use. */
export function asEnumName(value: unknown, what: string): string {
  const inner: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (typeof inner === 'string' && inner !== '') return inner;
  throw unexpected(value, what, 'an enum');
}

/** The one of these statuses that the contract's enum names: `Draft` is DRAFT. */
export function statusOf<Status extends string>(
  statuses: readonly Status[],
  value: unknown,
  what: string,
): Status {
  const name = asEnumName(value, 'status');
  const status = statuses.find((known) => `${known.charAt(0)}${known.slice(1).toLowerCase()}` === name);
  if (status === undefined) throw new UnexpectedValue(`"${name}" is no status of ${what}`);
  return status;
}

export function asFields(value: unknown, what: string): Record<string, unknown> {
  if (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  ) {
    return value as Record<string, unknown>;
  }
  throw unexpected(value, what, 'a struct');
}

/** A contract value as plain JavaScript: bigint, string, bytes, array, object. */
export function plain(value: xdr.ScVal): unknown {
  return scValToNative(value) as unknown;
}

/** A token's stored record of one retirement. */
export function retirementOf(value: xdr.ScVal): Omit<RetirementRecord, 'index'> {
  const fields = asFields(plain(value), 'a retirement record');
  return {
    retiredBy: asAddress(fields['retired_by'], 'retired_by'),
    amount: asBigint(fields['amount'], 'amount'),
    timestamp: asBigint(fields['timestamp'], 'timestamp'),
    beneficiary: textIn(value, 'beneficiary'),
    note: textIn(value, 'retirement_note'),
  };
}

function invalid(name: string, problem: string): NetworkRefusal {
  return refused('OTHER', `Invalid argument ${name}: ${problem}`);
}

function unexpected(value: unknown, what: string, wanted: string): UnexpectedValue {
  return new UnexpectedValue(`${what} should be ${wanted}, but is ${typeof value}`);
}
