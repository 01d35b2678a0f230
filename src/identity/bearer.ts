/**
 * The `Authorization: Bearer …` value, as an HTTP header and in a websocket's connection_init.
 */
import { DomainError } from '../lib/errors.ts';
import type { Caller } from './roles.ts';
import type { TokenVerifier } from './tokens.ts';

/** RFC 6750: the scheme, one or more spaces, and a token of these characters. */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** @throws DomainError UNAUTHENTICATED when the value is not a valid bearer token */
export async function callerOfAuthorization(value: unknown, verify: TokenVerifier): Promise<Caller> {
  const token = typeof value === 'string' ? BEARER.exec(value.trim())?.[1] : undefined;
  if (token === undefined) {
    throw new DomainError(
      'UNAUTHENTICATED',
      'The authorization must be the word Bearer, a space and the token.',
    );
  }
  return verify(token);
}
