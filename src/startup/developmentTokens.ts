/**
 * Bearer tokens for the running configuration, for people who try the product and for its tools.
 */
import { systemClock } from '../lib/clock.ts';
import type { Config } from '../config/config.ts';
import type { Role } from '../identity/roles.ts';
import { signToken } from '../identity/tokens.ts';
import { StartupError } from '../lib/startupErrors.ts';

/** Long enough to try the product for a week; real tokens come from an identity provider. */
const DEFAULT_LIFETIME_SECONDS = 7 * 24 * 3600;

/** The subjects of the tokens that the terminal shows; a buyer's is their buyerId. */
export const DEVELOPMENT_SUBJECTS: Readonly<Record<Role, string>> = {
  admin: 'admin',
  operator: 'operator',
  developer: 'developer',
  buyer: 'acme',
  warehouse: 'warehouse-1',
  farmer: 'farmer-1',
  lender: 'lender-1',
};

/** @throws StartupError when another issuer signs the tokens, or the server would refuse this token */
export async function signDevelopmentToken(
  config: Config,
  role: Role,
  subject: string = DEVELOPMENT_SUBJECTS[role],
  expiresInSeconds: number = Math.min(DEFAULT_LIFETIME_SECONDS, config.AUTH_MAX_TOKEN_SECONDS),
): Promise<string> {
  const [secret] = config.AUTH_SECRETS ?? [];
  if (secret === undefined) {
    throw new StartupError('AUTH_JWKS_URL is set: tokens come from your identity provider, not from here.');
  }
  if (expiresInSeconds > config.AUTH_MAX_TOKEN_SECONDS) {
    throw new StartupError(
      `A token for ${expiresInSeconds} s would be refused: AUTH_MAX_TOKEN_SECONDS allows ${config.AUTH_MAX_TOKEN_SECONDS}. ` +
        'Ask for a shorter one (--expires), or set that higher.',
    );
  }
  return signToken({
    secret,
    issuer: config.AUTH_ISSUER,
    audience: config.AUTH_AUDIENCE,
    subject,
    roles: [role],
    expiresInSeconds,
    now: systemClock.now,
  });
}
