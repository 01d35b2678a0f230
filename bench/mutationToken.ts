/**
 * The identity settings of the server without a database, and a buyer's token for it.
 */
import { signToken } from '../src/identity/tokens.ts';
import { systemClock } from '../src/lib/clock.ts';

const secret = 'a secret for measurements on this machine alone';
export const IDENTITY = {
  secret,
  secrets: [secret],
  issuer: 'bench',
  audience: 'bench',
};
const TOKEN_SECONDS = 24 * 3600;

export function mutationToken(): Promise<string> {
  const { now } = systemClock;
  return signToken({ ...IDENTITY, subject: 'acme', roles: ['buyer'], expiresInSeconds: TOKEN_SECONDS, now });
}
