/**
 * Verifies, without trusting the server, that a retirement is in the public log, and that the log has only
 * grown since an earlier visit. It uses nothing of the product: RFC 6962 hashes, C2SP tiles and signed notes,
 * node:crypto.
 *
 *   node verify.mjs https://api.example/logs/retirements <verifier key> <leaf> [checkpoint file]
 *
 * Keep the verifier key and the checkpoint file where the operator of the server can't change them. The file
 * is written after a visit that went well. Prints the retirement as JSON.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { argumentsOf, leafHash, nodeHash, open } from './note.mjs';

const [url, verifierKey, leaf, file] = argumentsOf(
  'verify.mjs <address of the log> <verifier key> <leaf> [checkpoint file]',
);

async function get(path) {
  const response = await fetch(`${url}/${path}`);
  if (!response.ok) throw new Error(`${url}/${path} answers ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

const tilePath = (index) =>
  String(index)
    .padStart(Math.ceil(String(index).length / 3) * 3, '0')
    .replace(/\d{3}(?=\d)/g, 'x$&/');
const tiles = new Map();
function tile(kind, index, hashes) {
  const width = Math.min(256, hashes - index * 256);
  const path = `tile/${kind}/${tilePath(index)}${width < 256 ? `.p/${width}` : ''}`;
  if (!tiles.has(path)) tiles.set(path, get(path));
  return tiles.get(path);
}

/** The hash of leaves `from` to `to` (an aligned power of two), as the tiles of a tree of `size` have it. */
async function subtree(from, to, size) {
  const height = Math.log2(to - from);
  if (height % 8 > 0) {
    const middle = (from + to) / 2;
    return nodeHash(await subtree(from, middle, size), await subtree(middle, to, size));
  }
  const index = from / (to - from);
  const hashes = await tile(height / 8, Math.floor(index / 256), Math.floor(size / (to - from)));
  return hashes.subarray((index % 256) * 32, (index % 256) * 32 + 32);
}

/** The hash of a range, from tiles and from known hashes: ranges by their ends, which override the tiles. */
async function hash(from, to, size, known = new Map()) {
  if (known.has(`${from}-${to}`)) return known.get(`${from}-${to}`);
  const holdsKnown = [...known.keys()].some(
    (range) => from < Number(range.split('-')[1]) && Number(range.split('-')[0]) < to,
  );
  if (!holdsKnown && Number.isInteger(Math.log2(to - from))) return subtree(from, to, size);
  const middle = from + 2 ** (Math.ceil(Math.log2(to - from)) - 1);
  return nodeHash(await hash(from, middle, size, known), await hash(middle, to, size, known));
}

const note = String(await get('checkpoint'));
const { size, root } = open(note, verifierKey);
if (file && existsSync(file)) {
  const earlier = open(readFileSync(file, 'utf8'), verifierKey);
  const whole = new Map();
  for (let from = 0, rest = earlier.size; rest > 0;) {
    const count = 2 ** Math.floor(Math.log2(rest));
    whole.set(`${from}-${from + count}`, await subtree(from, from + count, size));
    [from, rest] = [from + count, rest - count];
  }
  const isPrefix = earlier.size === 0 || (await hash(0, earlier.size, size, whole)).equals(earlier.root);
  const hasGrown =
    earlier.size === 0 || (earlier.size <= size && (await hash(0, size, size, whole)).equals(root));
  if (!isPrefix || !hasGrown)
    throw new Error(`the log was rewritten since the checkpoint of ${earlier.size} leaves`);
}
const at = Number(leaf);
if (!Number.isSafeInteger(at) || at < 0 || at >= size) {
  throw new Error(`the log has no leaf ${leaf}: its ${size} leaves count from 0`);
}
let bundle = await tile('entries', Math.floor(at / 256), size);
for (let skip = at % 256; skip > 0; skip -= 1) bundle = bundle.subarray(2 + bundle.readUInt16BE());
const entry = bundle.subarray(2, 2 + bundle.readUInt16BE());
const known = new Map([[`${at}-${at + 1}`, leafHash(entry)]]);
if (!(await hash(0, size, size, known)).equals(root)) throw new Error(`leaf ${at} is not in the log`);
if (file) writeFileSync(file, note);
process.stdout.write(`${JSON.stringify({ leaf: at, size, retirement: JSON.parse(String(entry)) })}\n`);
