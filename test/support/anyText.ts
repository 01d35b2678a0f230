/**
 * Texts of any characters, for generated tests.
 */
import fc from 'fast-check';

const CHARACTERS = 0x11_0000;
/** These are halves of characters. */
const SURROGATES = { from: 0xd800, count: 0x800 };

/**
 * As the library's own unit `binary`, for which it lists all million of them first: a second of work in each process. Its
 * way back from a character is what lets it put names such as `__proto__` among the texts.
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
