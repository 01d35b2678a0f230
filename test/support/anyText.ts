/**
 * Texts of any characters, for property tests.
 */
import fc from 'fast-check';

const CHARACTERS = 0x11_0000;
/** Surrogates are halves of characters. */
const SURROGATES = { from: 0xd800, count: 0x800 };

/**
 * Equals the library's own unit `binary`, which first lists all million characters: a second of work in each
 * process. The mapping back from a character lets the library add names such as `__proto__` to the texts.
 */
const anyCharacter = fc.nat(CHARACTERS - SURROGATES.count - 1).map(characterAt, placeOf);

export function anyText(constraints: { maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: anyCharacter });
}

function characterAt(place: number): string {
  return String.fromCodePoint(place < SURROGATES.from ? place : place + SURROGATES.count);
}

function placeOf(character: unknown): number {
  const code = typeof character === 'string' ? (character.codePointAt(0) ?? 0) : 0;
  const place = code < SURROGATES.from ? code : code - SURROGATES.count;
  if (place < 0 || characterAt(place) !== character) throw new Error('This is no single character');
  return place;
}
