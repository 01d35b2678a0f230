/**
 * Verifies, without trusting the server, that a log only grew since a checkpoint that you kept: by the API's
 * consistencyProof, with RFC 9162, section 2.1.4.2. verify.mjs does the same from the log's files.
 *
 *   node verifyGrowth.mjs https://api.example/graphql <log> <verifier key> <checkpoint file>
 *
 * Prints both sizes as JSON. The file stays as it is.
 */
import { readFileSync } from 'node:fs';
import { argumentsOf, fromHex, nodeHash, open } from './note.mjs';

const [url, log, verifierKey, file] = argumentsOf(
  'verifyGrowth.mjs <address of the API> <log> <verifier key> <checkpoint file>',
);
const earlier = open(readFileSync(file, 'utf8'), verifierKey);

const query = `query ($log: String!, $from: LeafNumber!) { consistencyProof(log: $log, fromTreeSize: $from) { hashes checkpoint } }`;
const response = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  // A log without entries proves nothing about a later head, so the program asks for the newest head alone.
  body: JSON.stringify({ query, variables: { log, from: Math.max(1, earlier.size) } }),
});
const { data, errors } = await response.json();
if (!data?.consistencyProof)
  throw new Error(errors?.[0]?.message ?? `the server answered ${response.status}`);
const later = open(data.consistencyProof.checkpoint, verifierKey);
const proof = fromHex(data.consistencyProof.hashes);
if (!isConsistent(earlier, later, proof)) {
  throw new Error(`the log was rewritten since the checkpoint of ${earlier.size} leaves`);
}
process.stdout.write(`${JSON.stringify({ from: earlier.size, to: later.size })}\n`);

function isConsistent(first, second, path) {
  if (first.size === 0) return true;
  if (first.size === second.size) return path.length === 0 && first.root.equals(second.root);
  if (first.size > second.size) return false;
  const isWholeSubtree = Number.isInteger(Math.log2(first.size));
  const [start, ...rest] = isWholeSubtree ? [first.root, ...path] : path;
  if (start === undefined) return false;
  let [node, last] = [first.size - 1, second.size - 1];
  while (node % 2 === 1) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  let [old, now] = [start, start];
  for (const hash of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      [old, now] = [nodeHash(hash, old), nodeHash(hash, now)];
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      now = nodeHash(now, hash);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 && old.equals(first.root) && now.equals(second.root);
}
