/**
 * Checkpoints: the head of a log as a signed note (c2sp.org/tlog-checkpoint, c2sp.org/signed-note, Ed25519).
 */
import { createHash, createPublicKey, sign, verify } from 'node:crypto';
import { privateKeyOf, publicBytesOf } from '../lib/ed25519.ts';
import { HASH_BYTES } from './merkle.ts';

export interface Checkpoint {
  origin: string;
  size: number;
  root: Buffer;
  /**
   * The network of the log's records, in an extension line: nothing else that is signed names it, and one
   * address can be on two chains.
   */
  networkId: string;
}

export interface LogKey {
  /** Returns the signed note of the checkpoint, in the name of its origin. */
  signCheckpoint(checkpoint: Checkpoint): string;
  /** Whether the note is signed with this key, in the name of its own origin. */
  isSigned(note: SignedNote): boolean;
  /** Returns the key under the name of a log, for other people's tools. */
  verifierKey(origin: string): string;
}

export interface SignedNote extends Checkpoint {
  /** The signed text. */
  text: string;
  signatures: readonly { name: string; bytes: Buffer }[];
}

/** The number of Ed25519 in signed notes. */
const ALGORITHM = Buffer.of(1);
const KEY_ID_BYTES = 4;
const NETWORK_LINE = 'network ';
const SIGNATURE = /^— (\S+) ([A-Za-z0-9+/]+={0,2})$/;
/** A log has a few signatures; more than this is not a checkpoint. */
const MAX_NOTE_BYTES = 16_384;

/** @param seed 32 secret bytes */
export function createLogKey(seed: Uint8Array): LogKey {
  const privateKey = privateKeyOf(seed);
  const publicKey = createPublicKey(privateKey);
  const rawKey = publicBytesOf(privateKey);
  return {
    signCheckpoint({ origin, size, root, networkId }) {
      const text = `${origin}\n${size}\n${root.toString('base64')}\n${NETWORK_LINE}${networkId}\n`;
      const signature = Buffer.concat([keyIdOf(origin, rawKey), sign(null, Buffer.from(text), privateKey)]);
      return `${text}\n— ${origin} ${signature.toString('base64')}\n`;
    },
    isSigned({ origin, text, signatures }) {
      const keyId = keyIdOf(origin, rawKey);
      return signatures.some(
        ({ name, bytes }) =>
          name === origin &&
          bytes.subarray(0, KEY_ID_BYTES).equals(keyId) &&
          verify(null, Buffer.from(text), publicKey, bytes.subarray(KEY_ID_BYTES)),
      );
    },
    verifierKey(origin) {
      const id = keyIdOf(origin, rawKey).toString('hex');
      return `${origin}+${id}+${Buffer.concat([ALGORITHM, rawKey]).toString('base64')}`;
    },
  };
}

/** Null when the note is not a signed checkpoint of a log of this product. */
export function parseCheckpoint(note: string): SignedNote | null {
  const end = note.lastIndexOf('\n\n');
  if (note.length > MAX_NOTE_BYTES || !note.endsWith('\n')) return null;
  const text = note.slice(0, end + 1);
  const [origin = '', size = '', root = '', network = ''] = text.split('\n');
  const signatures = note
    .slice(end + 2, -1)
    .split('\n')
    .flatMap((line) => {
      const [, name, bytes] = SIGNATURE.exec(line) ?? [];
      return name === undefined || bytes === undefined ? [] : [{ name, bytes: Buffer.from(bytes, 'base64') }];
    });
  const isWhole = origin !== '' && /^(0|[1-9][0-9]{0,15})$/.test(size) && Number.isSafeInteger(Number(size));
  const hash = Buffer.from(root, 'base64');
  if (!isWhole || hash.length !== HASH_BYTES || signatures.length === 0) return null;
  if (!network.startsWith(NETWORK_LINE)) return null;
  const networkId = network.slice(NETWORK_LINE.length);
  return { origin, size: Number(size), root: hash, networkId, text, signatures };
}

function keyIdOf(name: string, rawKey: Buffer): Buffer {
  const hash = createHash('sha256').update(name).update('\n').update(ALGORITHM).update(rawKey).digest();
  return hash.subarray(0, KEY_ID_BYTES);
}
