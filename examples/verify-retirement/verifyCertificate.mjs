/**
 * Verifies, without any server, that the retirement of a certificate's file is in the log of the signing key.
 *
 *   node verifyCertificate.mjs certificate.json <verifier key>
 *
 * The file is a certificate's .json, or the attachment of its PDF, or an object with the `inclusionProof` of
 * a purchase together with the key of the log of transfers. Keep the key where the server's operator can't
 * change it.
 *
 * Prints the retirement, or the entry of the purchase, as JSON, with the log's date, which is the first one.
 * The rest of a certificate (project, serial numbers, reason, period) is not in the log: it is the registry's
 * word. A node of the network shows whether the token says the same.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { argumentsOf, fromHex, leafHash, nodeHash, open } from './note.mjs';

const [file, verifierKey] = argumentsOf('verifyCertificate.mjs <certificate.json> <verifier key>');
const { record, network, inclusionProof: proof } = JSON.parse(readFileSync(file, 'utf8'));
if (!proof) throw new Error('the file has no proof: get it again, a few seconds after the retirement');

/** RFC 9162, section 2.1.3.2. */
function rootFrom(leaf, index, size, path) {
  if (index >= size) throw new Error('the log has fewer leaves than the proof says');
  let hash = leaf;
  let [node, last] = [index, size - 1];
  for (const sibling of path) {
    if (last === 0) throw new Error('the proof is too long');
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(sibling, hash);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      hash = nodeHash(hash, sibling);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  if (last !== 0) throw new Error('the proof is too short');
  return hash;
}

const { size, root, networkId } = open(proof.checkpoint, verifierKey);
// One address can be on a test chain and the main chain. An id may end with a colon and the first block's
// hash.
const [ours, signed] = [`${network?.networkId}:`, `${networkId}:`];
if (record && !ours.startsWith(signed) && !signed.startsWith(ours)) {
  throw new Error('the certificate is about another network than the log');
}
const path = fromHex(proof.hashes);
if (!rootFrom(leafHash(Buffer.from(proof.entry)), proof.leafIndex, size, path).equals(root)) {
  throw new Error('the proof does not lead to the signed root');
}

// A record that was dated anew, after its chain was rolled back, keeps its first time in the log.
const logged = JSON.parse(proof.entry);
for (const name of record ? ['amount', 'index', 'retiredBy', 'tokenAddress', 'beneficiary', 'note'] : []) {
  const digest = createHash('sha256').update(String(record[name])).digest('hex');
  if (logged[name] !== record[name] && logged[`${name}Sha256`] !== digest) {
    throw new Error(`the certificate has another ${name} than the log`);
  }
}
// For people, the same amount: a tonne is 10^18 base units.
if (record) {
  const [, sign = '', whole = '', fraction = ''] =
    /^(-?)(\d+)(?:\.(\d{1,18}))?$/.exec(String(record.tonnes)) ?? [];
  if (whole === '' || BigInt(`${sign}${whole}${fraction.padEnd(18, '0')}`) !== BigInt(logged.amount)) {
    throw new Error('the certificate has other tonnes than the log');
  }
}
const of = record ? 'retirement' : 'entry';
process.stdout.write(`${JSON.stringify({ leaf: proof.leafIndex, size, [of]: logged })}\n`);
