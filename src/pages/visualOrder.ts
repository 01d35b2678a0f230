/**
 * The pieces of a text in their order on paper, from left to right, line by line. PDFKit reverses the letters
 * of a piece that is written from right to left, if the piece contains nothing else, and draws the pieces
 * from left to right.
 *
 * Implements the part of the Unicode bidirectional algorithm (UAX 9) that names and notes need: the whole
 * text has the direction of its first letter, as in the page's `<bdi>`. Overrides and isolates are not shown
 * at all.
 */

const FROM_RIGHT = String.raw`\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}`;
const RIGHT_LETTER = new RegExp(`(?=[${FROM_RIGHT}])\\p{L}`, 'u');
/** A piece is a run of letters with their joiners and marks, a number, or any other single character. */
const PIECE = new RegExp(
  [
    String.raw`(?<right>(?=[${FROM_RIGHT}])\p{L}(?:(?=[${FROM_RIGHT}])\p{L}|[\p{M}\u200c\u200d])*)`,
    String.raw`(?<left>(?![${FROM_RIGHT}])\p{L}(?:(?![${FROM_RIGHT}])\p{L}|\p{M})*)`,
    String.raw`(?<number>\p{N}+(?:[.,:/]\p{N}+)*)`,
    String.raw`(?<other>\P{M}\p{M}*|\p{M})`,
  ].join('|'),
  'gsu',
);
const MIRRORED: ReadonlyMap<string, string> = new Map(
  ['()', '[]', '{}', '<>', '«»'].flatMap(([left = '', right = '']) => [
    [left, right],
    [right, left],
  ]),
);

type Direction = 'LEFT' | 'RIGHT';

interface Piece {
  text: string;
  /** Null for a piece without its own direction. */
  direction: Direction | null;
  isNumber: boolean;
}

/** Other texts need no order. */
export function hasRightToLeft(text: string): boolean {
  return RIGHT_LETTER.test(text);
}

/**
 * @param fits whether a text fits into a line
 * @returns lines, each with its pieces from left to right
 */
export function visualLines(text: string, fits: (line: string) => boolean): string[][] {
  const base = piecesOf(text).find(({ direction }) => direction !== null)?.direction ?? 'LEFT';
  return logicalLines(text, fits).map((line) => inOrder(resolved(piecesOf(line), base), base));
}

function piecesOf(text: string): Piece[] {
  return Array.from(text.matchAll(PIECE), ({ 0: piece, groups = {} }) => ({
    text: piece,
    direction: groups['right'] !== undefined ? 'RIGHT' : groups['left'] !== undefined ? 'LEFT' : null,
    isNumber: groups['number'] !== undefined,
  }));
}

/** A word that is too long for a line is cut between its characters. */
function logicalLines(text: string, fits: (line: string) => boolean): string[] {
  const words = text.split(' ').flatMap((word) => (fits(word) ? [word] : filled(word, '', fits)));
  return filled(words, ' ', fits);
}

/** Lines with as many parts as fit, and at least one. */
function filled(parts: Iterable<string>, joint: string, fits: (line: string) => boolean): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const longer = `${lines.at(-1)}${joint}${part}`;
    if (lines.length > 0 && fits(longer)) lines.splice(-1, 1, longer);
    else lines.push(part);
  }
  return lines;
}

/**
 * Numbers take the direction of the letters before them. Other pieces take the direction of their neighbours
 * if both agree, else that of the whole text.
 */
function resolved(pieces: readonly Piece[], base: Direction): { text: string; direction: Direction }[] {
  let before = base;
  const strong = pieces.map(({ direction, isNumber }) => {
    if (direction !== null) before = direction;
    return isNumber ? before : direction;
  });
  return pieces.map(({ text }, place) => {
    const own = strong[place];
    if (own != null) return { text, direction: own };
    const left = strong.slice(0, place).findLast((each) => each !== null) ?? base;
    const right = strong.slice(place + 1).find((each) => each !== null) ?? base;
    return { text, direction: left === right ? left : base };
  });
}

function inOrder(pieces: readonly { text: string; direction: Direction }[], base: Direction): string[] {
  const runs: { direction: Direction; texts: string[] }[] = [];
  for (const { text, direction } of pieces) {
    const run = runs.at(-1);
    if (run?.direction === direction) run.texts.push(text);
    else runs.push({ direction, texts: [text] });
  }
  const ordered = runs.map(({ direction, texts }) =>
    direction === 'LEFT' ? [texts.join('')] : texts.toReversed().map((text) => MIRRORED.get(text) ?? text),
  );
  return (base === 'RIGHT' ? ordered.toReversed() : ordered).flat();
}
