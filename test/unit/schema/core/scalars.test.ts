import type { ValueNode } from 'graphql';
import { GraphQLError, parseValue as parseLiteralText } from 'graphql';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_WHOLE_UNITS } from '../../../../src/ledger/units.ts';
import { scalars } from '../../../../src/schema/core/scalars.ts';
import { anyText } from '../../../support/anyText.ts';
import { bytesKeptBy } from '../../../support/heap.ts';

const { Tonnes, Decimal, BaseUnits, UnixTime, LeafNumber, LedgerNumber, Hash32 } = scalars;
const { Address, CountryCode, CurrencyCode, Date: CalendarDate } = scalars;

function literal(text: string): ValueNode {
  return parseLiteralText(text);
}

function errorOf(action: () => unknown): GraphQLError {
  try {
    action();
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('Tonnes', () => {
  it.each([
    [1, 1n],
    ['1', 1n],
    [Number.MAX_SAFE_INTEGER, 9007199254740991n],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', MAX_WHOLE_UNITS],
  ])('reads the JSON value %j', (value, amount) => {
    expect(Tonnes.parseValue(value)).toBe(amount);
  });

  it.each([
    [0],
    [-1],
    [1.5],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [2 ** 53],
    [2 ** 63],
    ['0'],
    ['-1'],
    ['+1'],
    ['01'],
    ['1.0'],
    ['1e3'],
    ['0x10'],
    [' 1'],
    ['1 '],
    ['1\n'],
    ['1_000'],
    ['1,000'],
    ['١٢'],
    ['１２'],
    [''],
    ['9223372036854775808'],
    [String(2n ** 200n)],
    ['9'.repeat(100_000)],
    [true],
    [null],
    [[1]],
    [{ amount: 1 }],
  ])('refuses the JSON value %j with a code, the value and what is expected', (value) => {
    const error = errorOf(() => Tonnes.parseValue(value));
    expect(error.extensions['code']).toBe('BAD_USER_INPUT');
    expect(error.message).toMatch(
      /^Tonnes must be a whole number of tonnes CO2e from 1 to 9223372036854775807.*, but is .+\.$/s,
    );
    expect(error.message.length).toBeLessThan(400);
  });

  it('says why a JSON integer that a double can not hold is refused', () => {
    expect(errorOf(() => Tonnes.parseValue(2 ** 53)).message).toContain('loses digits');
  });

  it.each([
    ['1', 1n],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', MAX_WHOLE_UNITS],
    ['"9007199254740993"', 9007199254740993n],
  ])('reads the literal %s exactly', (text, amount) => {
    expect(Tonnes.parseLiteral(literal(text))).toBe(amount);
  });

  it.each([
    '0',
    '-1',
    '1.5',
    '1e3',
    'true',
    'null',
    'RED',
    '[1]',
    '{amount: 1}',
    '9223372036854775808',
    '"0"',
    '" 1"',
  ])('refuses the literal %s, and points at it', (text) => {
    const error = errorOf(() => Tonnes.parseLiteral(literal(text)));
    expect(error.extensions['code']).toBe('BAD_USER_INPUT');
    expect(error.locations).toEqual([{ line: 1, column: 1 }]);
  });

  it('prints decimal strings, zero included, and nothing else', () => {
    expect(Tonnes.serialize(0n)).toBe('0');
    expect(Tonnes.serialize(MAX_WHOLE_UNITS)).toBe('9223372036854775807');
    // A sum may be larger than one quantity.
    expect(Tonnes.serialize(MAX_WHOLE_UNITS + 1n)).toBe('9223372036854775808');
    for (const value of [-1n, 2n ** 127n, 1, '1', null]) {
      expect(() => Tonnes.serialize(value)).toThrow("can't print");
    }
  });

  it('reads back every amount that it prints', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: MAX_WHOLE_UNITS }), (amount) => {
        const printed = Tonnes.serialize(amount);
        expect(Tonnes.parseValue(printed)).toBe(amount);
        expect(Tonnes.parseLiteral(literal(String(printed)))).toBe(amount);
      }),
    );
  });

  it('takes no text but canonical decimals', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        fc.pre(!/^[1-9][0-9]{0,18}$/.test(text));
        expect(errorOf(() => Tonnes.parseValue(text)).extensions['code']).toBe('BAD_USER_INPUT');
      }),
    );
  });

  it('repeats a hostile value escaped and shortened', () => {
    const { message } = errorOf(() => Tonnes.parseValue(`\u202e\u0000\n${'x'.repeat(10_000)}`));
    expect(message).toContain(String.raw`\u{202e}`);
    expect(message).not.toMatch(/[\p{C}]/u);
    expect(message.length).toBeLessThan(400);
  });
});

describe('BaseUnits', () => {
  it('prints and reads amounts beyond 64 bits as decimal strings', () => {
    const amount = MAX_WHOLE_UNITS * 10n ** 18n;
    expect(BaseUnits.serialize(amount)).toBe('9223372036854775807000000000000000000');
    expect(BaseUnits.parseValue('9223372036854775807000000000000000000')).toBe(amount);
    expect(BaseUnits.parseValue('0')).toBe(0n);
  });

  it.each([[1], ['-1'], ['00'], ['1.5'], [String(2n ** 127n)]])('refuses %j', (value) => {
    expect(errorOf(() => BaseUnits.parseValue(value)).extensions['code']).toBe('BAD_USER_INPUT');
  });
});

describe('Decimal', () => {
  it('is an exact decimal number as a string', () => {
    for (const text of ['0', '2.5', '0.000000000000000001', '9223372036854775807']) {
      expect(Decimal.parseValue(text)).toBe(text);
      expect(Decimal.serialize(text)).toBe(text);
    }
    expect(() => Decimal.serialize(2.5)).toThrow("can't print");
  });

  it.each([[2.5], ['.5'], ['5.'], ['-1'], ['1e3'], ['00'], ['0.0000000000000000001']])(
    'refuses %j',
    (value) => {
      const { message, extensions } = errorOf(() => Decimal.parseValue(value));
      expect(extensions['code']).toBe('BAD_USER_INPUT');
      expect(message).toMatch(/no sign.* 40 digits before and 18 after the point/);
    },
  );

  it('takes as many digits as it says', () => {
    const longest = `${'9'.repeat(40)}.${'9'.repeat(18)}`;
    expect(Decimal.parseValue(longest)).toBe(longest);
    for (const value of [`9${longest}`, `${longest}9`]) errorOf(() => Decimal.parseValue(value));
  });
});

describe('LedgerNumber', () => {
  it('is a JSON integer beyond 32 bits', () => {
    expect(LedgerNumber.serialize(2n ** 40n)).toBe(2 ** 40);
    expect(() => LedgerNumber.serialize(2n ** 53n)).toThrow("can't print");
    expect(errorOf(() => LedgerNumber.parseValue('1')).extensions['code']).toBe('BAD_USER_INPUT');
  });
});

describe('LeafNumber', () => {
  it('is a JSON integer beyond 32 bits, from 0', () => {
    expect(LeafNumber.serialize(0n)).toBe(0);
    expect(LeafNumber.serialize(2n ** 53n - 1n)).toBe(2 ** 53 - 1);
    expect(() => LeafNumber.serialize(2n ** 53n)).toThrow("can't print");
    expect(LeafNumber.parseValue(2 ** 31)).toBe(2n ** 31n);
    expect(errorOf(() => LeafNumber.parseValue(-1)).extensions['code']).toBe('BAD_USER_INPUT');
  });
});

describe('UnixTime', () => {
  it('goes on after 2038', () => {
    expect(UnixTime.serialize(4_102_444_800n)).toBe(4_102_444_800);
    expect(UnixTime.parseValue(4_102_444_800)).toBe(4_102_444_800n);
    expect(UnixTime.parseLiteral(literal('4102444800'))).toBe(4_102_444_800n);
  });

  it.each([[-1], [1.5], ['1'], [1_700_000_000_000], [null]])('refuses %j', (value) => {
    expect(errorOf(() => UnixTime.parseValue(value)).extensions['code']).toBe('BAD_USER_INPUT');
  });
});

describe('Hash32', () => {
  it('is lower-cased', () => {
    expect(Hash32.parseValue(`0x${'AB'.repeat(32)}`)).toBe(`0x${'ab'.repeat(32)}`);
    expect(Hash32.serialize(`0x${'AB'.repeat(32)}`)).toBe(`0x${'ab'.repeat(32)}`);
  });

  it.each([['ab'.repeat(32)], ['0xab'], [`0x${'g'.repeat(64)}`], [`0x${'a'.repeat(65)}`], [7]])(
    'refuses %j',
    (value) => {
      expect(errorOf(() => Hash32.parseValue(value)).extensions['code']).toBe('BAD_USER_INPUT');
    },
  );
});

describe('CountryCode', () => {
  it('knows the 249 countries of ISO 3166-1, and no other code', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');
    const codes = letters.flatMap((first) => letters.map((second) => first + second));
    const known = codes.filter((code) => {
      try {
        return CountryCode.parseValue(code) === code;
      } catch {
        return false;
      }
    });
    expect(known).toHaveLength(249);
    expect(known).toEqual(expect.arrayContaining(['KE', 'BR', 'DE', 'AX']));
  });

  it.each([['ke'], ['KEN'], ['ZZ'], ['EU'], ['UK'], ['SU'], ['XK'], [''], ['K'], [7], [null]])(
    'refuses %j',
    (value) => {
      const error = errorOf(() => CountryCode.parseValue(value));
      expect(error.extensions['code']).toBe('BAD_USER_INPUT');
      expect(error.message).toContain('ISO 3166-1');
    },
  );
});

describe('CurrencyCode', () => {
  it('is a currency of ISO 4217 in three letters of upper case, in and out', () => {
    for (const code of ['KES', 'USD', 'SLE', 'XAU']) expect(CurrencyCode.parseValue(code)).toBe(code);
    expect(CurrencyCode.parseLiteral(literal('"UGX"'))).toBe('UGX');
    expect(CurrencyCode.serialize('KES')).toBe('KES');
    expect(() => CurrencyCode.serialize('')).toThrow("can't print");
    for (const value of ['kes', 'KE', 'KESH', ' KES', 7, 'KSE', 'ERU', 'BTC', 'XXX', 'XTS']) {
      expect(errorOf(() => CurrencyCode.parseValue(value)).extensions['code']).toBe('BAD_USER_INPUT');
    }
  });

  it('prints a code that Node no longer knows', () => {
    expect(CurrencyCode.serialize('QQQ')).toBe('QQQ');
  });
});

describe('Address', () => {
  it.each([
    ['a literal', (text: string) => Address.parseLiteral(literal(`"${text}" # ${'x'.repeat(50_000)}`))],
    ['a padded value', (text: string) => Address.parseValue(`${text}${' '.repeat(50_000)}`)],
  ])('keeps nothing else in memory of %s', async (_, read) => {
    const { bytes, result } = await bytesKeptBy(() =>
      Array.from({ length: 100 }, (_entry, i) => read(`0x${'aB'.repeat(18)}${1_000 + i}`)),
    );
    expect(result.at(-1)).toBe(`0x${'aB'.repeat(18)}1099`);
    expect(bytes).toBeLessThan(500_000);
  });

  it('leaves the spelling to the network, within 128 characters', () => {
    const strkey = `G${'A'.repeat(55)}`;
    expect(Address.parseValue(` ${strkey} `)).toBe(strkey);
    expect(Address.parseValue(`0x${'aB'.repeat(20)}`)).toBe(`0x${'aB'.repeat(20)}`);
    expect(Address.serialize(strkey)).toBe(strkey);
    expect(() => Address.serialize('')).toThrow("can't print");
    for (const value of ['', ' ', 'x'.repeat(129), 'a b', 'a\u202eb', 'é', 7, null]) {
      expect(errorOf(() => Address.parseValue(value)).extensions['code']).toBe('BAD_USER_INPUT');
    }
  });
});

describe('Date', () => {
  it('is a day of the calendar', () => {
    expect(CalendarDate.parseValue('2024-02-29')).toBe('2024-02-29');
    expect(CalendarDate.serialize('2025-06-30')).toBe('2025-06-30');
    for (const value of [
      '2023-02-29',
      '2024-13-01',
      '2024-1-1',
      '0000-01-01',
      '2024-01-01T00:00:00Z',
      20240101,
    ]) {
      expect(errorOf(() => CalendarDate.parseValue(value)).extensions['code']).toBe('BAD_USER_INPUT');
    }
  });
});
