/**
 * What is said of the proof in a certificate, which anyone may have written.
 */
import { describe, expect, it } from 'vitest';
import { createLogKey, parseCheckpoint } from '../../../src/transparency/checkpoint.ts';
import { createInclusionCheck } from '../../../src/transparency/inclusion.ts';
import { growTiles, hashesOf, inclusionProof, leafHash, rootOf } from '../../../src/transparency/merkle.ts';

const ENTRIES = ['{"index":0}', '{"index":1}', '{"index":2}'];
const SIZE = ENTRIES.length;
const LEAF = 1;
const ORIGIN = 'registry.example/logs/retirements';
const NETWORK = 'stellar:testnet';

const at = hashesOf(growTiles([], 0, Buffer.concat(ENTRIES.map((entry) => leafHash(Buffer.from(entry))))));
const root = Buffer.from(rootOf(at, SIZE));
const [ours, theirs] = [1, 2].map((byte) => createLogKey(Buffer.alloc(32, byte))) as [LogKey, LogKey];
type LogKey = ReturnType<typeof createLogKey>;

const head = { origin: ORIGIN, size: SIZE, root, networkId: NETWORK };
const signed = ours.signCheckpoint(head);
const path = inclusionProof(at, LEAF, SIZE).map((hash) => Buffer.from(hash).toString('hex'));
const proof = {
  leafIndex: LEAF,
  entry: ENTRIES[LEAF] ?? '',
  hashes: path,
  treeSize: SIZE,
  rootHash: root.toString('hex'),
  checkpoint: signed,
};

/** The first leaf's, whose path is the same for other numbers that no leaf has. */
const firstProof = {
  ...proof,
  leafIndex: 0,
  entry: ENTRIES[0] ?? '',
  hashes: inclusionProof(at, 0, SIZE).map((hash) => Buffer.from(hash).toString('hex')),
};

const check = createInclusionCheck(ours, NETWORK);

/** The note with its signature's bytes changed. */
function withSignature(change: (bytes: Buffer) => Buffer): string {
  return signed.replace(/(\S+)\n$/, (_, base64: string) => {
    return `${change(Buffer.from(base64, 'base64')).toString('base64')}\n`;
  });
}

it('is that it holds', () => {
  expect([check(proof), check(firstProof)]).toEqual([null, null]);
});

describe('is which defect it has', () => {
  it.each<[string, string, Partial<typeof proof>]>([
    ['signed by another registry', 'NOT_SIGNED', { checkpoint: theirs.signCheckpoint(head) }],
    [
      'signed for another head',
      'NOT_SIGNED',
      { checkpoint: signed.replace(`\n${SIZE}\n`, `\n${SIZE + 1}\n`), treeSize: SIZE + 1 },
    ],
    [
      'signed before a text was added to it',
      'NOT_SIGNED',
      { checkpoint: signed.replace('\n\n', '\n\nadded\n\n') },
    ],
    [
      'signed with another number of the key',
      'NOT_SIGNED',
      { checkpoint: withSignature((bytes) => Buffer.concat([Buffer.alloc(4), bytes.subarray(4)])) },
    ],
    [
      'signed by nothing but the number of the key',
      'NOT_SIGNED',
      { checkpoint: withSignature((bytes) => bytes.subarray(0, 4)) },
    ],
    [
      'signed in another name than its own',
      'NOT_SIGNED',
      { checkpoint: signed.replace(`— ${ORIGIN}`, '— other.example/logs/retirements') },
    ],
    [
      'of a log on another network',
      'OTHER_NETWORK',
      { checkpoint: ours.signCheckpoint({ ...head, networkId: 'stellar:pubnet' }) },
    ],
    ['of another number of leaves', 'OTHER_HEAD', { treeSize: SIZE + 1 }],
    ['of another root', 'OTHER_HEAD', { rootHash: '0'.repeat(64) }],
    ['of another entry', 'NOT_INCLUDED', { entry: ENTRIES[0] ?? '' }],
    ['of another leaf', 'NOT_INCLUDED', { leafIndex: 0 }],
    ['of a leaf behind the log', 'NOT_INCLUDED', { leafIndex: 5 }],
    ['of a leaf before the log', 'NOT_INCLUDED', { ...firstProof, leafIndex: -2 }],
    ['of a part of a leaf', 'NOT_INCLUDED', { ...firstProof, leafIndex: 0.5 }],
    ['without its last hash', 'NOT_INCLUDED', { hashes: path.slice(0, -1) }],
    ['with a hash too many', 'NOT_INCLUDED', { hashes: [...path, path[0] ?? ''] }],
    ['with a hash that is too long', 'NOT_INCLUDED', { hashes: [`${path[0]}00`, ...path.slice(1)] }],
    ['with text behind a hash', 'NOT_INCLUDED', { hashes: [`${path[0]}zz`, ...path.slice(1)] }],
    ['with half a byte behind a hash', 'NOT_INCLUDED', { hashes: [`${path[0]}0`, ...path.slice(1)] }],
    ['with no hash', 'NOT_INCLUDED', { hashes: ['', ...path.slice(1)] }],
    [
      'with more hashes than any log has',
      'NOT_INCLUDED',
      { hashes: Array.from({ length: 5_000 }, () => path[0] ?? '') },
    ],
    ['without a checkpoint', 'NO_CHECKPOINT', { checkpoint: '' }],
  ])('%s: %s', (_what, defect, change) => {
    expect(check({ ...proof, ...change })).toBe(defect);
  });
});

it.each([
  ['without an end of its text', signed.replace('\n\n', '\n')],
  ['without an end of its last line', signed.slice(0, -1)],
  ['without a name', signed.replace(ORIGIN, '')],
  ['without a signature', `${signed.split('\n\n')[0]}\n\n\n`],
  ['whose size is no number', signed.replace(`\n${SIZE}\n`, '\n03\n')],
  ['whose size no number holds exactly', signed.replace(`\n${SIZE}\n`, '\n9007199254740993\n')],
  ['whose root is too short', ours.signCheckpoint({ ...head, root: root.subarray(1) })],
  ['without a network', signed.replace(/\nnetwork .*\n/, '\n')],
  ['with another line in the place of the network', signed.replace('\nnetwork ', '\nnetwerk ')],
  ['that is too long', signed.replace('\n\n', `\n${'x'.repeat(16_384)}\n\n`)],
])('a note %s is no checkpoint', (_what, note) => {
  expect(parseCheckpoint(signed)).not.toBeNull();
  expect(parseCheckpoint(note)).toBeNull();
});
