/**
 * Bytes as lower-case hexadecimal digits, the form of this indexer's ids and secrets.
 */
export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
