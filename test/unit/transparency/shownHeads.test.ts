/**
 * What the memory of a process says of a head: it may have grown beyond the largest one shown, in its name.
 */
import { expect, it } from 'vitest';
import { createLogKey } from '../../../src/transparency/checkpoint.ts';
import { createShownHeads } from '../../../src/transparency/shownHeads.ts';

const ORIGIN = 'registry.example/logs/retirements';
const OTHER = 'registry.example/logs/transfers';
const key = createLogKey(Buffer.alloc(32, 1));
const rootOf = (size: number) => Buffer.alloc(32, size);
const noteOf = (size: number, origin = ORIGIN) =>
  key.signCheckpoint({ origin, size, root: rootOf(size), networkId: 'x' });

const shown = createShownHeads();
for (const note of [noteOf(2), noteOf(4), noteOf(3), 'damaged', noteOf(1, OTHER)]) shown.note(note);

it.each([
  ['has grown in another instance', ORIGIN, 5, 5, null],
  ['is the largest', ORIGIN, 4, 4, null],
  ['lost its newest leaf', ORIGIN, 3, 3, 'has 3 leaves, and a head of 4 was signed before'],
  ['has another root', ORIGIN, 4, 9, 'has another root than was signed before for 4 leaves'],
  ['is of a smaller log', OTHER, 1, 1, null],
  ['is of a smaller log that lost its leaf', OTHER, 0, 0, 'has 0 leaves, and a head of 1 was signed before'],
  ['has a new name', 'other.example/logs/retirements', 3, 3, null],
])('of a head that %s', (_what, origin, size, root, contradiction) => {
  expect(shown.contradictionOf(origin, { size, root: rootOf(root) })).toBe(contradiction);
});
