/**
 * The scalars of the contract: amounts, times, codes, addresses and hashes. GraphQL's Int, Float and String
 * would round, overflow or not check them.
 */
import type { ValueNode } from 'graphql';
import { Kind } from 'graphql';
import { MAX_WHOLE_UNITS } from '../../ledger/units.ts';
import { unixSeconds } from '../../lib/clock.ts';
import { isCountryCode, isCurrencyCode } from '../../lib/isoCodes.ts';
import { ownText } from '../../lib/ownText.ts';
import { printText, refused, serializeInteger, showLiteral, stringScalar } from './scalarForms.ts';
import type { ScalarDefinition } from './scalarForms.ts';
import { showValue } from './showValue.ts';

/** Only ASCII digits: no sign, leading zero, decimals, exponent, hex, spaces or other scripts' digits. */
const DECIMAL_INTEGER = /^[1-9][0-9]{0,39}$/;
const DECIMAL = /^(0|[1-9][0-9]{0,39})(\.[0-9]{1,18})?$/;
/** Records of other accounts may have negative amounts: they are printed, but never accepted as input. */
const SHOWN_DECIMAL = /^-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,18})?$/;
/** Fits every family of networks; the network decides, and normalises the spelling. */
export const ADDRESS = /^[0-9A-Za-z][0-9A-Za-z._:-]{0,127}$/;
const COUNTRY_CODE = /^[A-Z]{2}$/;
const CURRENCY_CODE = /^[A-Z]{3}$/;
/** PostgreSQL has no year 0, but JavaScript has. */
const CALENDAR_DATE = /^(?!0000)\d{4}-\d{2}-\d{2}$/;
const HASH_32 = /^0x[0-9a-fA-F]{64}$/;
/** The maximum of i128, in which Soroban contracts count. */
const MAX_BASE_UNITS = 2n ** 127n - 1n;
const MIN_SHOWN_BASE_UNITS = -(2n ** 127n);
/** The end of the year 9999: a later time is in milliseconds instead of seconds. */
const MAX_UNIX_TIME = 253_402_300_799;

/**
 * A scalar for whole units (tonnes, kilograms), 1 to 2^63-1. Read from a JSON integer that a double holds
 * exactly, from an integer literal of any size, or from a decimal string; printed as a decimal string.
 */
function wholeUnits(name: string, unit: string): ScalarDefinition<bigint> {
  const expected = `a whole number of ${unit} from 1 to ${MAX_WHOLE_UNITS}, as a JSON integer or a decimal string`;
  const read = (text: string, shown: string, node?: ValueNode) => {
    const amount = DECIMAL_INTEGER.test(text) ? BigInt(text) : 0n;
    if (amount < 1n || amount > MAX_WHOLE_UNITS) throw refused(name, shown, expected, node);
    return amount;
  };
  return {
    description:
      `Whole ${unit}. Input: an integer from 1 to ${MAX_WHOLE_UNITS}, either as a JSON integer up to ` +
      `${Number.MAX_SAFE_INTEGER} or as a decimal string. Output: always a decimal string, "0" or greater.`,
    // A sum of amounts may be larger than the maximum of an amount.
    serialize: (value) => serializeInteger(name, value, 0n, MAX_BASE_UNITS),
    parseValue: (value) => {
      if (typeof value === 'string') return read(value, showValue(value));
      if (typeof value !== 'number' || !Number.isInteger(value))
        throw refused(name, showValue(value), expected);
      if (!Number.isSafeInteger(value))
        throw refused(name, showValue(value), `${expected}; a JSON integer this large loses digits`);
      return read(value.toString(), showValue(value));
    },
    parseLiteral: (node) => {
      if (node.kind === Kind.INT || node.kind === Kind.STRING)
        return read(node.value, showLiteral(node), node);
      throw refused(name, showLiteral(node), expected, node);
    },
  };
}

const tonnes = wholeUnits('Tonnes', 'tonnes CO2e');
const kilograms = wholeUnits('Kilograms', 'kilograms');
const usDollars = wholeUnits('UsDollars', 'US dollars');

const baseUnits: ScalarDefinition<bigint> = stringScalar({
  name: 'BaseUnits',
  description:
    'An amount in base units of a token, as a decimal string: 10^18 base units are one tonne CO2e or one kilogram.',
  expected: `a decimal string from "0" to "${MAX_BASE_UNITS}"`,
  read: (text) => {
    const amount = text === '0' ? 0n : DECIMAL_INTEGER.test(text) ? BigInt(text) : -1n;
    return amount >= 0n && amount <= MAX_BASE_UNITS ? amount : undefined;
  },
  serialize: (value) => serializeInteger('BaseUnits', value, MIN_SHOWN_BASE_UNITS, MAX_BASE_UNITS),
});

const hash32: ScalarDefinition<string> = stringScalar({
  name: 'Hash32',
  description: 'A 32-byte hash: 0x followed by 64 hexadecimal digits, in lower case on output.',
  expected: '0x and 64 hexadecimal digits',
  read: (text) => (HASH_32.test(text) ? text.toLowerCase() : undefined),
  serialize: (value) => {
    if (typeof value === 'string' && HASH_32.test(value)) return value.toLowerCase();
    throw new Error(`Hash32 can't print ${showValue(value)}.`);
  },
});

/** A scalar that is a JSON integer beyond 32 bits. */
function jsonInteger({
  name,
  expected,
  max,
  ...described
}: {
  name: string;
  description: string;
  specifiedByURL?: string;
  expected: string;
  max: number;
}): ScalarDefinition<bigint> {
  const read = (value: number, shown: string, node?: ValueNode): bigint => {
    if (Number.isInteger(value) && value >= 0 && value <= max) return BigInt(value);
    throw refused(name, shown, `${expected}, from 0 to ${max}`, node);
  };
  return {
    ...described,
    serialize: (value) => {
      if (typeof value === 'bigint' && value >= 0n && value <= max) return Number(value);
      throw new Error(`${name} can't print ${showValue(value)}.`);
    },
    parseValue: (value) => read(typeof value === 'number' ? value : Number.NaN, showValue(value)),
    parseLiteral: (node) =>
      read(node.kind === Kind.INT ? Number(node.value) : Number.NaN, showLiteral(node), node),
  };
}

const seconds = jsonInteger({
  name: 'UnixTime',
  description:
    'Whole seconds since 1970-01-01T00:00:00Z, as a JSON integer. Times after January 2038 do not fit a signed ' +
    '32-bit integer.',
  specifiedByURL: 'https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap04.html#tag_04_19',
  expected: 'a whole number of seconds since 1970',
  max: MAX_UNIX_TIME,
});

/** A moment is printed in whole seconds. */
const unixTime: ScalarDefinition<bigint> = {
  ...seconds,
  serialize: (value) => seconds.serialize(value instanceof Date ? unixSeconds(value) : value),
};

const leafNumber = jsonInteger({
  name: 'LeafNumber',
  description:
    'The number of leaves of a transparency log, or the zero-based index of a leaf, as a JSON integer. Logs can ' +
    'grow beyond 2^31 leaves.',
  expected: 'a number of leaves, or the index of one',
  max: Number.MAX_SAFE_INTEGER,
});

const ledgerNumber = jsonInteger({
  name: 'LedgerNumber',
  description: 'The number of a closed ledger (block) of the network, as a JSON integer.',
  expected: 'the number of a ledger',
  max: Number.MAX_SAFE_INTEGER,
});

const decimal = stringScalar({
  name: 'Decimal',
  description: 'An exact decimal number as a string, such as "2.5", without an exponent. Not a float.',
  expected:
    'a decimal number as a string, such as "2.5": no sign, exponent or leading zeros, at most 40 digits before and 18 after the point',
  read: (text) => (DECIMAL.test(text) ? text : undefined),
  serialize: (value) => printText('Decimal', value, SHOWN_DECIMAL),
});

const address = stringScalar({
  name: 'Address',
  description:
    "An address on the configured ledger network, in the network's own form, such as G…, C… or 0x…. Input: any " +
    'spelling that the network accepts. Output: one spelling, so that equal addresses are equal strings.',
  expected: 'an address of the ledger network: 1 to 128 letters, digits and . _ : -',
  // The networks' libraries remember the addresses that they have checked.
  read: (text) => (ADDRESS.test(text.trim()) ? ownText(text.trim()) : undefined),
  serialize: (value) => printText('Address', value, ADDRESS),
});

const countryCode = stringScalar({
  name: 'CountryCode',
  description: 'A country: ISO 3166-1 alpha-2, in upper case, such as KE.',
  specifiedByURL: 'https://www.iso.org/iso-3166-country-codes.html',
  expected: 'a country code of ISO 3166-1 alpha-2 in upper case, such as "KE"',
  read: (text) => (isCountryCode(text) ? text : undefined),
  serialize: (value) => printText('CountryCode', value, COUNTRY_CODE),
});

const currencyCode = stringScalar({
  name: 'CurrencyCode',
  description: 'A currency: ISO 4217, in upper case, such as KES.',
  specifiedByURL: 'https://www.iso.org/iso-4217-currency-codes.html',
  expected: 'a currency code of ISO 4217 in upper case, such as "KES"',
  read: (text) => (isCurrencyCode(text) ? text : undefined),
  serialize: (value) => printText('CurrencyCode', value, CURRENCY_CODE),
});

const calendarDate = stringScalar({
  name: 'Date',
  description: 'A calendar day as YYYY-MM-DD, such as 2025-06-30.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339#section-5.6',
  expected: 'a day as "YYYY-MM-DD"',
  read: (text) => (isCalendarDate(text) ? text : undefined),
  serialize: (value) => printText('Date', value, CALENDAR_DATE),
});

function isCalendarDate(text: string): boolean {
  if (!CALENDAR_DATE.test(text)) return false;
  const moment = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(text);
}

/** Text that no error repeats; graphql-js would quote a wrong String. */
const privateText: ScalarDefinition<string> = {
  description:
    'Text that no error message repeats and no response contains, except the response to the operator who pays ' +
    'by hand: 1 to 64 characters, none of them hidden.',
  serialize: () => {
    throw new Error('PrivateText is never printed.');
  },
  parseValue: (value) => readPrivateText(value),
  parseLiteral: (node) => readPrivateText(node.kind === Kind.STRING ? node.value : undefined, node),
};

const PRIVATE_TEXT = /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u;

function readPrivateText(value: unknown, node?: ValueNode): string {
  const text = typeof value === 'string' ? value.normalize('NFC').trim() : '';
  if (PRIVATE_TEXT.test(text)) return text;
  throw refused(
    'PrivateText',
    'something else, which is not repeated here',
    'a string of 1 to 64 visible characters',
    node,
  );
}

/** Every scalar that the contract defines, by its name in the schema. */
export const scalars = {
  Address: address,
  CountryCode: countryCode,
  CurrencyCode: currencyCode,
  Date: calendarDate,
  Tonnes: tonnes,
  Kilograms: kilograms,
  UsDollars: usDollars,
  PrivateText: privateText,
  Decimal: decimal,
  BaseUnits: baseUnits,
  UnixTime: unixTime,
  LeafNumber: leafNumber,
  LedgerNumber: ledgerNumber,
  Hash32: hash32,
};

type Scalars = typeof scalars;

/** A scalar's values inside the program: the values that resolvers receive and return. */
export type ScalarTypes = {
  [Name in keyof Scalars]: {
    Input: ReturnType<Scalars[Name]['parseValue']>;
    Output: ReturnType<Scalars[Name]['parseValue']> | (Name extends 'UnixTime' ? Date : never);
  };
} & { ID: { Input: string; Output: string } };
