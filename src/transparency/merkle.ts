/**
 * Merkle trees as in RFC 9162 (with the hashes of RFC 6962), over hashes that are kept in tiles of height 8.
 *
 * A `HashAt` gives the root of a whole subtree of 256^level leaves. Every other hash is computed from those.
 */
import { hash } from 'node:crypto';

export const HASH_BYTES = 32;
/** Hashes in a whole tile. */
export const TILE_WIDTH = 256;
const TILE_HEIGHT = 8;

export type HashAt = (level: number, index: number) => Uint8Array;

export interface Tile {
  level: number;
  index: number;
  /** 32 bytes each, in their order. */
  hashes: Buffer;
}

const LEAF = Buffer.of(0);
const NODE = 1;
/** The input of a node's hash: prefix and two hashes. Reused, because reconciliation hashes every node. */
const nodeInput = Buffer.alloc(1 + 2 * HASH_BYTES, NODE);

export function leafHash(data: Uint8Array): Buffer {
  return sha256(Buffer.concat([LEAF, data]));
}

/** @throws RangeError for hashes of another length: older bytes in the buffer would be hashed with them */
function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES) {
    throw new RangeError(
      `a node is of two hashes of ${HASH_BYTES} bytes, not ${left.length} and ${right.length}`,
    );
  }
  nodeInput.set(left, 1);
  nodeInput.set(right, 1 + HASH_BYTES);
  return sha256(nodeInput);
}

function sha256(data: Uint8Array): Buffer {
  return hash('sha256', data, 'buffer');
}

export function rootOf(at: HashAt, size: number): Uint8Array {
  return size === 0 ? sha256(Buffer.alloc(0)) : rangeHash(at, 0, size);
}

/** The hashes that lead from a leaf to the root: RFC 9162, section 2.1.3.1. */
export function inclusionProof(at: HashAt, index: number, size: number): Uint8Array[] {
  const path: Uint8Array[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + splitOf(to - from);
    const isLeft = index < middle;
    path.push(isLeft ? rangeHash(at, middle, to) : rangeHash(at, from, middle));
    [from, to] = isLeft ? [from, middle] : [middle, to];
  }
  return path.toReversed();
}

/** The root that a proof leads to: RFC 9162, section 2.1.3.2. Null when the tree has another size. */
export function rootOfProof(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Uint8Array | null {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return null;
  let hash = leaf;
  let [node, last] = [index, size - 1];
  for (const sibling of path) {
    if (last === 0) return null;
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(sibling, hash);
      // A node without a right neighbour is its parent too.
      while (node % 2 === 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      hash = nodeHash(hash, sibling);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 ? hash : null;
}

/**
 * The hashes that show that the tree only grew between the sizes: RFC 9162, section 2.1.4.1.
 * @param first from 1 to `size`
 */
export function consistencyProof(at: HashAt, first: number, size: number): Uint8Array[] {
  const path: Uint8Array[] = [];
  let [from, to] = [0, size];
  while (first !== to) {
    const middle = from + splitOf(to - from);
    const isLeft = first <= middle;
    path.push(isLeft ? rangeHash(at, middle, to) : rangeHash(at, from, middle));
    [from, to] = isLeft ? [from, middle] : [middle, to];
  }
  // The verifier has the root of the first tree, when that is a whole subtree of the second.
  if (from !== 0) path.push(rangeHash(at, from, to));
  return path.toReversed();
}

/** The largest power of two below `count`. */
function splitOf(count: number): number {
  return 2 ** (Math.ceil(Math.log2(count)) - 1);
}

/** The hash of a range that the splits of a tree lead to. */
function rangeHash(at: HashAt, from: number, to: number): Uint8Array {
  const count = to - from;
  if (Number.isInteger(Math.log2(count))) return subtreeHash(at, Math.log2(count), from / count);
  const middle = from + splitOf(count);
  return nodeHash(rangeHash(at, from, middle), rangeHash(at, middle, to));
}

/** The hash of the whole subtree with 2^height leaves. */
function subtreeHash(at: HashAt, height: number, index: number): Uint8Array {
  if (height % TILE_HEIGHT === 0) return at(height / TILE_HEIGHT, index);
  return nodeHash(subtreeHash(at, height - 1, 2 * index), subtreeHash(at, height - 1, 2 * index + 1));
}

/** The hash of a whole tile, which the tile above holds. */
export function tileHash({ hashes }: Pick<Tile, 'hashes'>): Uint8Array {
  const level = Buffer.from(hashes);
  for (let width = level.length / HASH_BYTES; width > 1; width /= 2) {
    for (let place = 0; place < width; place += 2) {
      level.copy(nodeInput, 1, place * HASH_BYTES, (place + 2) * HASH_BYTES);
      level.set(sha256(nodeInput), (place / 2) * HASH_BYTES);
    }
  }
  return level.subarray(0, HASH_BYTES);
}

function hashIn(hashes: Buffer, place: number): Buffer {
  return hashes.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES);
}

/** How many hashes a level has in a tree of that size. */
export function widthOf(size: number, level: number): number {
  return Math.floor(size / TILE_WIDTH ** level);
}

/** The unfinished tiles at the right edge, to which leaves are appended; the root is computed from them. */
export function edgeOf(size: number): Pick<Tile, 'level' | 'index'>[] {
  const edge: Pick<Tile, 'level' | 'index'>[] = [];
  for (let level = 0; widthOf(size, level) > 0; level += 1) {
    const width = widthOf(size, level);
    if (width % TILE_WIDTH > 0) edge.push({ level, index: Math.floor(width / TILE_WIDTH) });
  }
  return edge;
}

/**
 * The tiles from which the proof of a leaf is computed: those over the leaf, and the edge. The proof that a
 * tree has grown from the one that ends with this leaf takes the same ones.
 */
export function tilesOfProof(index: number, size: number): Pick<Tile, 'level' | 'index'>[] {
  const tiles = edgeOf(size);
  for (let level = 0; widthOf(size, level) > 0; level += 1) {
    tiles.push({ level, index: Math.floor(index / TILE_WIDTH ** (level + 1)) });
  }
  return tiles;
}

/**
 * Appends leaves.
 * @param edge the tiles of `edgeOf(size)`
 * @param leaves their hashes, 32 bytes each
 * @returns the tiles that have changed
 */
export function growTiles(edge: readonly Tile[], size: number, leaves: Buffer): Tile[] {
  const changed: Tile[] = [];
  let fresh = leaves;
  for (let level = 0; fresh.length > 0; level += 1) {
    const width = widthOf(size, level);
    const started = edge.find((tile) => tile.level === level)?.hashes ?? Buffer.alloc(0);
    const hashes = Buffer.concat([started, fresh]);
    const whole: Uint8Array[] = [];
    for (let at = 0; at < hashes.length; at += TILE_WIDTH * HASH_BYTES) {
      const tile = {
        level,
        index: Math.floor(width / TILE_WIDTH) + at / (TILE_WIDTH * HASH_BYTES),
        hashes: hashes.subarray(at, at + TILE_WIDTH * HASH_BYTES),
      };
      changed.push(tile);
      if (tile.hashes.length === TILE_WIDTH * HASH_BYTES) whole.push(tileHash(tile));
    }
    fresh = Buffer.concat(whole);
  }
  return changed;
}

/** Reads hashes from tiles at hand. @throws Error when one is missing, or too short */
export function hashesOf(tiles: readonly Tile[]): HashAt {
  const byPlace = new Map(tiles.map((tile) => [`${tile.level}/${tile.index}`, tile.hashes]));
  return (level, index) => {
    const hashes = byPlace.get(`${level}/${Math.floor(index / TILE_WIDTH)}`);
    const hash = hashIn(hashes ?? Buffer.alloc(0), index % TILE_WIDTH);
    if (hash.length === HASH_BYTES) return hash;
    throw new MissingHash(
      `tile ${Math.floor(index / TILE_WIDTH)} of level ${level} lacks hash ${index % TILE_WIDTH}`,
    );
  };
}

class MissingHash extends Error {}

/** Null when a hash is missing. */
export function unlessMissing<T>(compute: () => T): T | null {
  try {
    return compute();
  } catch (error) {
    if (error instanceof MissingHash) return null;
    throw error;
  }
}
