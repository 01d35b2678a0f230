/**
 * The signature of a webhook, from an indexer or a ramp provider: `sha256=` and the lower-case hex
 * HMAC-SHA256 of the raw body, keyed with the secret string that both know.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

const SIGNATURE_PATTERN = /^sha256=[0-9a-f]{64}$/;

/** Whether the header has the form of a signature. A header of another form verifies under no secret. */
export function isSignature(header: string | null | undefined): header is string {
  return header != null && SIGNATURE_PATTERN.test(header);
}

/** The header value for exactly these bytes. */
export function signBody(secret: string, rawBody: Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(rawBody).digest('hex')}`;
}

/**
 * True when the header was made from these bytes with one of the secrets. Every secret is tried with a
 * constant-time comparison, so the duration reveals nothing. False without a secret.
 */
export function verifySignature(delivery: {
  rawBody: Uint8Array;
  header: string | null | undefined;
  secrets: readonly string[];
}): boolean {
  const { rawBody, header, secrets } = delivery;
  if (!isSignature(header)) return false;
  const given = Buffer.from(header, 'latin1');
  let isVerified = false;
  for (const secret of secrets) {
    // An empty secret is a missing one: any sender could sign with it.
    if (secret === '') continue;
    const expected = Buffer.from(signBody(secret, rawBody), 'latin1');
    if (timingSafeEqual(expected, given)) isVerified = true;
  }
  return isVerified;
}
