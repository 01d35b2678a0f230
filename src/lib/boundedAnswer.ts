/**
 * Reads other servers' answers, which may be endless, up to a limit.
 */

/** The body as text. @throws when it is longer than `maxBytes`; the rest is not read */
export async function readBounded(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let byteLength = 0;
  // Leaving the loop cancels the body, so an endless answer ends here.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    byteLength += chunk.length;
    if (byteLength > maxBytes) throw new Error(`its answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
