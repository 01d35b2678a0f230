import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { badUserInput } from '../../../../src/schema/core/badInput.ts';
import * as rules from '../../../../src/schema/core/text.ts';
import { anyText } from '../../../support/anyText.ts';

function problemOf(rule: z.ZodType, value: unknown): string | undefined {
  return rule.safeParse(value).error?.issues[0]?.message;
}

describe('text for people', () => {
  it('is trimmed and normalised', () => {
    expect(rules.beneficiary.parse('  Cafe\u0301 GmbH ')).toBe('Caf\u00e9 GmbH');
  });

  it('keeps scripts, accents and emoji', () => {
    for (const name of ['शाकाहारी', 'شركة', '株式会社', 'Ærø & Søn', 'Green 🌱', 'O’Neill']) {
      expect(rules.beneficiary.parse(name)).toBe(name);
    }
  });

  it.each([
    ['Persian', 'شرکت\u200cهای سبز'],
    ['Persian with a vowel sign', 'کتابِ\u200cما'],
    ['Hindi', 'राष्\u200dट्रीय'],
    ['Bengali', 'র\u09cd\u200dযা'],
    ['Kannada', 'ರಾಜ್\u200cಕುಮಾರ್'],
    ['an emoji of two', '👩\u200d🌾 Farm'],
    ['an emoji of a flag and a colour', '🏳\ufe0f\u200d🌈 Ltd'],
    ['an emoji with a skin', '👩🏽\u200d🌾'],
  ])('keeps the joiners of %s', (_, name) => {
    expect(rules.beneficiary.parse(name)).toBe(name.normalize('NFC'));
  });

  it('drops a joiner that shows nothing, after a letter that joins none', () => {
    expect(rules.beneficiary.parse('برادر\u200cها')).toBe('برادرها');
  });

  it('is read in a moment, however many marks and joiners it has', () => {
    const longest = 100_000;
    for (const part of [
      '\u0301',
      '\u200c',
      '\u0627\u0301\u200c',
      '\u094d\u200d',
      '👩\u200d',
      '\u0628\u064e',
    ]) {
      for (const raw of [part.repeat(longest), `${' '.repeat(longest)}${part.repeat(longest)}`]) {
        expect(rules.note.safeParse(raw).success).toBe(false);
      }
    }
  }, 2_000);

  it.each([
    'Acme\u200cLtd',
    'Acme\u200dLtd',
    '\u200cشركة',
    'شركة\u200c',
    'شركة\u200c Ltd',
    'شر\u200c\u200cكة',
    'شر\u200dكة',
    'क\u200dष',
    '🌱\u200d',
    '🌱\u200dA',
    '🌱\u200d🌱',
    'A\u094d\u200cB',
    'क\u0301\u094d\u200d',
  ])('has no joiner that joins nothing: %j', (name) => {
    expect(problemOf(rules.beneficiary, name)).toMatch(/U\+200[CD]/);
  });

  it('is limited in bytes, not characters', () => {
    expect(rules.beneficiary.parse('é'.repeat(128))).toHaveLength(128);
    expect(problemOf(rules.beneficiary, 'é'.repeat(129))).toBe(
      'must be at most 256 bytes as UTF-8, but has 258',
    );
    expect(problemOf(rules.beneficiary, 'x'.repeat(10_240))).toContain('10240');
  });

  it.each(['', ' ', '\u00a0\u3000'])('must say something: %j', (value) => {
    expect(problemOf(rules.beneficiary, value)).toBe('must not be empty');
    expect(rules.note.parse(value)).toBe('');
  });

  it.each([
    ['\u0000', '0000'],
    ['\n', '000A'],
    ['\u007f', '007F'],
    ['\u0085', '0085'],
    ['\u061c', '061C'],
    ['\u200b', '200B'],
    ['\u200e', '200E'],
    ['\u202e', '202E'],
    ['\u2028', '2028'],
    ['\u2029', '2029'],
    ['\u2066', '2066'],
    ['\u2069', '2069'],
    ['\ufeff', 'FEFF'],
    ['\u3164', '3164'],
    ['\ud800', 'D800'],
    ['\u{e0041}', 'E0041'],
    ['\u0378', '0378'],
    ['\ufdd0', 'FDD0'],
    ['\u{10ffff}', '10FFFF'],
  ])('has no hidden character %j', (character, code) => {
    for (const value of [`a${character}b`, `${character}b`, `a${character}`]) {
      expect(problemOf(rules.note, value)).toContain(`U+${code}`);
    }
  });

  it('comes out as it would come out again, whatever is put in', () => {
    fc.assert(
      // Most characters are unassigned, and refused.
      fc.property(
        fc.oneof(
          anyText(),
          anyText().map((raw) => raw.replaceAll(/\p{Cn}/gu, '')),
        ),
        (raw) => {
          const result = rules.note.safeParse(raw);
          if (!result.success) return;
          expect(rules.note.parse(result.data)).toBe(result.data);
          expect(result.data).not.toMatch(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u);
        },
      ),
    );
  });
});

describe('names to look for', () => {
  it('are looked for as they are given and as they are stored, each once', () => {
    expect(rules.beneficiaryList.parse(['  Cafe\u0301 ', 'Cafe\u0301', 'Acme'])).toEqual([
      '  Cafe\u0301 ',
      'Caf\u00e9',
      'Cafe\u0301',
      'Acme',
    ]);
    expect(rules.beneficiaryList.parse([])).toEqual([]);
  });

  it('have every name in the form in which it is stored', () => {
    fc.assert(
      fc.property(anyText(), (raw) => {
        const stored = rules.beneficiary.safeParse(raw);
        if (stored.success) expect(rules.beneficiaryList.parse([raw])).toContain(stored.data);
      }),
    );
  });
});

describe('keys and codes', () => {
  it.each(['k', 'order 1', '~'.repeat(255)])('takes the idempotency key %j', (key) => {
    expect(rules.idempotencyKey.parse(key)).toBe(key);
  });

  it.each(['', '~'.repeat(256), 'kéy', 'a\n', 'a\u0000'])('refuses the idempotency key %j', (key) => {
    expect(problemOf(rules.idempotencyKey, key)).toContain('1 to 255 printable ASCII');
  });

  it.each(['acme', 'a', 'auth0|5f7', 'jane.doe@example.com', 'x'.repeat(128)])('takes the buyer %j', (id) => {
    expect(rules.subject.parse(id)).toBe(id);
  });

  it.each(['', '-acme', 'a b', 'acmé', 'x'.repeat(129), 'a/b', 'a\n'])('refuses the buyer %j', (id) => {
    expect(problemOf(rules.subject, id)).toContain('1 to 128');
  });

  it('sells a vintage from 1990 to next year', () => {
    const rule = rules.vintageYear({ now: () => new Date('2031-12-31T23:59:59Z') });
    expect(rule.parse(1990)).toBe(1990);
    expect(rule.parse(2032)).toBe(2032);
    for (const year of [1989, 2033, 2000.5, -1]) {
      expect(problemOf(rule, year)).toBe('must be a year from 1990 to 2032');
    }
  });
});

describe('the error for a broken rule', () => {
  it('names the field, the rule and the value', () => {
    const { error } = z
      .object({ input: z.object({ buyerName: rules.beneficiary }) })
      .safeParse({ input: { buyerName: ' ' } });
    if (error === undefined) throw new Error('the rule was not broken');
    const problem = badUserInput(error, { input: { buyerName: '\u202e evil' } });
    expect(problem).toMatchObject({ code: 'BAD_USER_INPUT', details: { field: 'input.buyerName' } });
    expect(problem.message).toBe(String.raw`input.buyerName must not be empty; it is "\u{202e} evil".`);
  });
});
