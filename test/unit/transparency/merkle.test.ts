/**
 * Merkle trees in tiles, compared with RFC 6962's reference test tree and with the definition.
 */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  consistencyProof,
  edgeOf,
  growTiles,
  hashesOf,
  HASH_BYTES,
  inclusionProof,
  leafHash,
  rootOf,
  rootOfProof,
  tilesOfProof,
  unlessMissing,
  type Tile,
} from '../../../src/transparency/merkle.ts';

const LEAVES = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
];
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const A = '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7';
const B = '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e';
const C = '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4';
const D = 'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b';
const E = 'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0';
const F = '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a';

/** Adds a few leaves at a time, as the builder does. */
function treeOf(leaves: readonly Buffer[], atATime: number): Tile[] {
  const tiles = new Map<string, Tile>();
  for (let size = 0; size < leaves.length; size += atATime) {
    const edge = edgeOf(size).map(({ level, index }) => tiles.get(`${level}/${index}`) as Tile);
    const fresh = Buffer.concat(leaves.slice(size, size + atATime));
    for (const tile of growTiles(edge, size, fresh)) tiles.set(`${tile.level}/${tile.index}`, tile);
  }
  return [...tiles.values()];
}

/** The root as RFC 9162, section 2.1.1, defines it. */
function definedRoot(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return createHash('sha256').digest();
  const [only] = leaves;
  if (only !== undefined && leaves.length === 1) return only;
  let half = 1;
  while (half * 2 < leaves.length) half *= 2;
  const node = createHash('sha256').update(Buffer.of(1));
  return node
    .update(definedRoot(leaves.slice(0, half)))
    .update(definedRoot(leaves.slice(half)))
    .digest();
}

const hex = (hashes: readonly Uint8Array[]) => hashes.map((hash) => Buffer.from(hash).toString('hex'));

describe('the reference tree of eight leaves', () => {
  const at = hashesOf(
    treeOf(
      LEAVES.map((leaf) => leafHash(Buffer.from(leaf, 'hex'))),
      3,
    ),
  );

  it('has the roots', () => {
    expect(hex(ROOTS.map((_root, index) => rootOf(at, index + 1)))).toEqual(ROOTS);
    expect(hex([rootOf(at, 0)])).toEqual([
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    ]);
  });

  it('has the inclusion proofs', () => {
    expect(hex(inclusionProof(at, 0, 1))).toEqual([]);
    expect(hex(inclusionProof(at, 0, 8))).toEqual([A, B, C]);
    expect(hex(inclusionProof(at, 5, 8))).toEqual([D, E, ROOTS[3]]);
    expect(hex(inclusionProof(at, 2, 3))).toEqual([ROOTS[1]]);
    expect(hex(inclusionProof(at, 1, 5))).toEqual([ROOTS[0], B, D]);
  });

  it('has the consistency proofs', () => {
    expect(hex(consistencyProof(at, 1, 1))).toEqual([]);
    expect(hex(consistencyProof(at, 1, 8))).toEqual([A, B, C]);
    expect(hex(consistencyProof(at, 6, 8))).toEqual([F, E, ROOTS[3]]);
    expect(hex(consistencyProof(at, 2, 5))).toEqual([B, D]);
  });
});

describe('a tree in tiles', () => {
  const leaves = Array.from({ length: 66_000 }, (_, index) => leafHash(Buffer.from(String(index))));
  const tiles = treeOf(leaves, 4_096);
  const only = (places: readonly Pick<Tile, 'level' | 'index'>[]) =>
    tiles.filter((tile) => places.some(({ level, index }) => tile.level === level && tile.index === index));

  it('has the roots of the definition, whatever is appended at a time', () => {
    for (const [size, atATime] of [
      [255, 1],
      [256, 7],
      [257, 256],
      [600, 255],
      [1_025, 1_024],
    ] as const) {
      const at = hashesOf(treeOf(leaves.slice(0, size), atATime));
      for (const part of [1, size - 1, size]) {
        expect(hex([rootOf(at, part)])).toEqual(hex([definedRoot(leaves.slice(0, part))]));
      }
    }
  });

  it('needs the tiles of its edge, of three levels', () => {
    const few = only(edgeOf(leaves.length));
    expect(few.map(({ level, index }) => `${level}/${index}`).sort()).toEqual(['0/257', '1/1', '2/0']);
    expect(hex([rootOf(hashesOf(few), leaves.length)])).toEqual(hex([definedRoot(leaves)]));
    expect(few.every(({ hashes }) => hashes.length % HASH_BYTES === 0)).toBe(true);
    const lacking = () => rootOf(hashesOf(few.slice(1)), leaves.length);
    expect(lacking).toThrow(/lacks hash/);
    expect(unlessMissing(lacking)).toBeNull();
  });

  it('takes no defect for a missing hash', () => {
    const defective = () => {
      throw new RangeError('a defect');
    };
    expect(() => unlessMissing(defective)).toThrow('a defect');
  });

  it.each([1, 2, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, 65_792, 66_000])(
    'needs for proofs at a size of %i the tiles over the leaf and its edge',
    (size) => {
      const all = hashesOf(tiles);
      const places = [0, 1, 127, 128, 255, 256, 32_767, 32_768, 65_535, 65_536, size - 2, size - 1];
      for (const index of places.filter((place) => place >= 0 && place < size)) {
        const at = hashesOf(only(tilesOfProof(index, size)));
        expect(hex(inclusionProof(at, index, size))).toEqual(hex(inclusionProof(all, index, size)));
        expect(hex(consistencyProof(at, index + 1, size))).toEqual(
          hex(consistencyProof(all, index + 1, size)),
        );
      }
    },
  );
});

describe('a proof of inclusion', () => {
  it('is of whole hashes', () => {
    const [leaf, long] = [leafHash(Buffer.of(1)), Buffer.alloc(HASH_BYTES + 1)];
    expect(() => rootOfProof(leaf, 0, 2, [long])).toThrow('hashes of 32 bytes, not 32 and 33');
    expect(() => rootOfProof(long.subarray(2), 0, 2, [leaf])).toThrow('not 31 and 32');
  });

  it('leads from each leaf of each tree to its root, and from nothing else', () => {
    const leaves = Array.from({ length: 40 }, (_, i) => leafHash(Buffer.of(i)));
    const at = hashesOf(treeOf(leaves, 7));
    for (let size = 1; size <= leaves.length; size += 1) {
      const root = Buffer.from(rootOf(at, size));
      for (let index = 0; index < size; index += 1) {
        const path = inclusionProof(at, index, size);
        const leads = (leaf: Buffer | undefined, place: number, hashes: readonly Uint8Array[]) =>
          leaf !== undefined && root.equals(rootOfProof(leaf, place, size, hashes) ?? Buffer.alloc(0));
        expect([size, index, leads(leaves[index], index, path)]).toEqual([size, index, true]);
        const wrong = [
          leads(leaves[(index + 1) % 40], index, path),
          size > 1 && leads(leaves[index], (index + 1) % size, path),
          leads(leaves[index], index, [...path, root]),
          size > 1 && leads(leaves[index], index, path.slice(1)),
          leads(leaves[index], -1, path),
          leads(leaves[index], size, path),
        ];
        expect([size, index, wrong.includes(true)]).toEqual([size, index, false]);
      }
    }
  });
});
