/**
 * Recognises requests that carry a secret which the other side was given beforehand.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Compares in a time that does not depend on the token or its length. */
export function hasBearer({ headers }: Pick<IncomingMessage, 'headers'>, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`));
}
