/**
 * What the programs share: the hashes of the tree (RFC 9162), signed notes (C2SP) with Ed25519 keys, and one
 * line on standard error and exit code 1 for everything that does not hold or can't be read.
 */
import { createHash, createPublicKey, verify } from 'node:crypto';

process.on('uncaughtException', ({ message, cause }) => {
  // The refused connections to all addresses of a name are one error without a message.
  process.stderr.write(`${message}${cause ? `: ${cause.message || cause.code}` : ''}\n`);
  process.exit(1);
});

/** @returns the program's arguments, of which the optional ones are in brackets in the usage */
export function argumentsOf(usage) {
  const given = process.argv.slice(2);
  const needed = usage.match(/ <[^>]+>/g).length;
  const most = needed + (usage.match(/ \[/g) ?? []).length;
  if (given.length < needed || given.length > most) throw new Error(`usage: node ${usage}`);
  return given;
}

export const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();
export const leafHash = (entry) => sha256(Buffer.of(0), entry);
export const nodeHash = (left, right) => sha256(Buffer.of(1), left, right);

/** The hashes of a proof. Buffer.from ignores the text from the first other character on. */
export function fromHex(hashes) {
  return hashes.map((hash) => {
    if (!/^[0-9a-f]{64}$/i.test(hash)) throw new Error(`"${hash}" is not 64 hexadecimal digits`);
    return Buffer.from(hash, 'hex');
  });
}

/** @returns size and root of a checkpoint that the key signed, and the network of the log's records */
export function open(note, verifierKey) {
  const parts = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(verifierKey.trim());
  if (!parts) throw new Error(`"${verifierKey}" is no verifier key: take the one at the log's address, /key`);
  const [, name, id, key] = parts;
  const text = note.slice(0, note.indexOf('\n\n') + 1);
  const line = note.split('\n').find((each) => each.startsWith(`— ${name} `)) ?? '';
  const signature = Buffer.from(line.split(' ')[2] ?? '', 'base64');
  const publicKey = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(key, 'base64').subarray(1).toString('base64url') },
    format: 'jwk',
  });
  const isSigned = verify(null, Buffer.from(text), publicKey, signature.subarray(4));
  const [origin, size, root, network = ''] = text.split('\n');
  if (signature.subarray(0, 4).toString('hex') !== id || !isSigned || origin !== name) {
    throw new Error('the checkpoint is not signed with this key');
  }
  return {
    size: Number(size),
    root: Buffer.from(root, 'base64'),
    networkId: network.replace(/^network /, ''),
  };
}
