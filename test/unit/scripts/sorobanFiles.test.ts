/**
 * The built WebAssembly files match their checksums, and contain no path of the build machine.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

const folder = new URL('../../../devnet/soroban/built/', import.meta.url);
const FOREIGN_PATH = /\/(?:root|home|Users|work|tmp)\//;

const read = (file: string) => {
  const bytes = readFileSync(new URL(file, folder));
  return file.endsWith('.gz') ? gunzipSync(bytes) : bytes;
};
const files = readdirSync(folder).filter((file) => file.includes('.wasm'));

it('are named by their SHA-256 sums, all of them', () => {
  const lines = files.map((file) => {
    const sum = createHash('sha256').update(read(file)).digest('hex');
    return `${sum}  ${file.replace(/\.gz$/, '')}`;
  });
  const named = readFileSync(new URL('SHA256SUMS', folder), 'utf8').trim().split('\n');
  expect(lines.toSorted()).toEqual(named.toSorted());
});

it.each(files)('%s contains nothing of where it was built', (file) => {
  expect(FOREIGN_PATH.exec(read(file).toString('latin1'))).toBeNull();
});
