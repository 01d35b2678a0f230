/**
 * Bearer tokens: signs them for development and tests, and verifies them.
 *
 * The algorithms are pinned by the kind of key, never taken from the token: a shared secret verifies HS256
 * alone and a JWKS verifies public-key algorithms alone, so a public key can't be misused as a secret and
 * `alg: none` is never read.
 */
import { createSecretKey } from 'node:crypto';
import {
  errors,
  jwtVerify,
  SignJWT,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';
import type { Clock } from '../lib/clock.ts';
import { DomainError, messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createProviderKeys } from './providerKeys.ts';
import { cacheVerifiedTokens } from './verifiedTokenCache.ts';
import { isRole, ROLES, SUBJECT_FORM, SUBJECT_PATTERN, type Caller, type Role } from './roles.ts';
import { MIN_SECRET_BYTES } from '../lib/settingRules.ts';

/** A token with all roles is under 500 characters; the rest is for claims of identity providers. */
const MAX_TOKEN_LENGTH = 8192;

/** A caller for more warehouses is an operator; and a token must fit into a header. */
const MAX_WAREHOUSES = 100;

/** Tolerated difference between the clocks of the identity provider and this server. */
export const CLOCK_TOLERANCE_SECONDS = 5;

const SECRET_ALGORITHMS = ['HS256'];
const JWKS_ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];

/**
 * Returns a token's caller.
 * @throws DomainError UNAUTHENTICATED, with the token's defect; OVERLOADED while the identity provider's keys
 * are not known
 */
export type TokenVerifier = (token: string) => Promise<Caller>;

interface TokenClaims {
  issuer: string;
  audience: string;
  subject: string;
  roles: readonly Role[];
  expiresInSeconds: number;
  /** The token's own name, by which it can be revoked. */
  jti?: string;
}

/** The claims that a token must have. */
export interface TokenRules {
  issuer: string;
  audience: string;
  /** Maximum time from the token's issue (from now, if it names none) to its expiry; unlimited by default. */
  maxLifetimeSeconds?: number;
}

/** Each of the secrets verifies, so that one can replace another while its tokens live on. */
export type TokenKey =
  { secrets: readonly string[]; jwksUrl?: undefined } | { jwksUrl: string; secrets?: undefined };

/**
 * A token that `createTokenVerifier` with this secret among its own and the same issuer and audience accepts.
 */
export async function signToken(
  options: TokenClaims & { secret: string; now: Clock['now'] },
): Promise<string> {
  if (!SUBJECT_PATTERN.test(options.subject)) {
    throw new Error(
      `The subject ${JSON.stringify(options.subject)} can't be put in a token: use ${SUBJECT_FORM}.`,
    );
  }
  const issuedAt = Math.floor(options.now().getTime() / 1000);
  const { jti } = options;
  return new SignJWT({ roles: [...options.roles], ...(jti !== undefined && { jti }) })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(options.subject)
    .setIssuer(options.issuer)
    .setAudience(options.audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + options.expiresInSeconds)
    .sign(secretKey(options.secret));
}

export function createTokenVerifier(
  options: TokenKey & TokenRules & { now: Clock['now']; log?: Pick<Logger, 'warn'> },
): TokenVerifier {
  const { keys, algorithms } = keysOf(options, options.log);
  const verifyAnew: TokenVerifier = async (token) => {
    if (token.length > MAX_TOKEN_LENGTH) {
      throw unauthenticated(
        `The token has ${token.length} characters; at most ${MAX_TOKEN_LENGTH} are accepted.`,
      );
    }
    try {
      const now = options.now();
      const payload = await verifyWithAny(token, keys, {
        algorithms,
        issuer: options.issuer,
        audience: options.audience,
        // jose requires the two claims above.
        requiredClaims: ['exp', 'sub'],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: now,
      });
      requireShortLived(payload, now, options.maxLifetimeSeconds ?? Infinity);
      return callerOf(payload, now);
    } catch (error) {
      throw explain(error);
    }
  };
  return cacheVerifiedTokens(verifyAnew, options.now, isOver);
}

/** Whether the token has expired, by whole seconds as in jose. */
function isOver({ expiresAt }: Caller, nowMs: number): boolean {
  return expiresAt <= Math.floor(nowMs / 1000) - CLOCK_TOLERANCE_SECONDS;
}

function keysOf(
  { secrets, jwksUrl }: TokenKey,
  log?: Pick<Logger, 'warn'>,
): { keys: JWTVerifyGetKey[]; algorithms: string[] } {
  if (secrets === undefined) return { keys: [createProviderKeys(jwksUrl, log)], algorithms: JWKS_ALGORITHMS };
  // Imported once: jose would import the bytes again for each token.
  const keys = secrets.map((secret) => createSecretKey(secretKey(secret)));
  return { keys: keys.map((key) => async () => key), algorithms: SECRET_ALGORITHMS };
}

/** @throws the error about the last key, which is the same about each but for the signature */
async function verifyWithAny(
  token: string,
  [key, ...others]: readonly JWTVerifyGetKey[],
  rules: JWTVerifyOptions,
): Promise<JWTPayload> {
  if (key === undefined) throw new Error('No key verifies tokens.');
  try {
    return (await jwtVerify(token, key, rules)).payload;
  } catch (error) {
    if (others.length === 0 || !(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    return verifyWithAny(token, others, rules);
  }
}

function secretKey(secret: string): Uint8Array {
  const bytes = new TextEncoder().encode(secret);
  if (bytes.length < MIN_SECRET_BYTES) {
    throw new Error(`The token secret has ${bytes.length} bytes; at least ${MIN_SECRET_BYTES} are needed.`);
  }
  return bytes;
}

/** Limits a token's lifetime, because a stolen token works until its end. */
function requireShortLived({ exp = 0, iat }: JWTPayload, now: Date, maxSeconds: number): void {
  const nowSeconds = Math.floor(now.getTime() / 1000);
  // A time of issue in the future would hide a part of the lifetime.
  const seconds = exp - Math.min(iat ?? nowSeconds, nowSeconds);
  if (seconds <= maxSeconds + CLOCK_TOLERANCE_SECONDS) return;
  throw unauthenticated(
    `The token is valid for ${seconds} s; at most ${maxSeconds} s are accepted here.`,
    'exp',
  );
}

/**
 * Whether the time of issue is in the future. It then proves nothing, and a revocation of tokens issued
 * before a time would miss the token. The clocks of the identity provider and of the database, which sets
 * that time, may both be off.
 */
function isAhead(iat: number, now: Date): boolean {
  return iat > now.getTime() / 1000 + 2 * CLOCK_TOLERANCE_SECONDS;
}

function callerOf(payload: JWTPayload, now: Date): Caller {
  const { sub, exp, iat, jti, roles, warehouseIds = [sub] } = payload;
  if (typeof sub !== 'string' || !SUBJECT_PATTERN.test(sub)) {
    throw unauthenticated(`The token's "sub" must be ${SUBJECT_FORM}.`, 'sub');
  }
  if (!Number.isSafeInteger(exp)) {
    throw unauthenticated('The token\'s "exp" must be a whole number of Unix seconds.', 'exp');
  }
  if (!Array.isArray(roles) || roles.length === 0 || !roles.every(isRole)) {
    throw unauthenticated(
      `The token's "roles" must be a list of at least one of ${ROLES.join(', ')}.`,
      'roles',
    );
  }
  if (!isSubjectList(warehouseIds)) {
    throw unauthenticated(
      `The token's "warehouseIds" must be a list of at most ${MAX_WAREHOUSES} ids, each ${SUBJECT_FORM}.`,
      'warehouseIds',
    );
  }
  return {
    subject: sub,
    roles: [...new Set(roles)],
    warehouseIds,
    expiresAt: Number(exp),
    apiKeyId: null,
    jti: typeof jti === 'string' ? jti : null,
    issuedAt: iat === undefined || isAhead(iat, now) ? null : iat,
  };
}

function isSubjectList(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= MAX_WAREHOUSES &&
    value.every((id) => typeof id === 'string' && SUBJECT_PATTERN.test(id))
  );
}

/** One message for each defect; none repeats the token. */
function explain(error: unknown): Error {
  if (error instanceof DomainError) return error;
  if (error instanceof errors.JWTExpired) {
    return unauthenticated('The token has expired; get a new one.', 'exp');
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    return unauthenticated(claimProblem(error), error.claim);
  }
  if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JWKSNoMatchingKey) {
    return unauthenticated(
      "The token's signature does not verify: it was signed with another key or changed.",
    );
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return unauthenticated('The token\'s header must name its key with "kid".', 'kid');
  }
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported) {
    return unauthenticated("The token's signing algorithm is not accepted here.", 'alg');
  }
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) {
    return unauthenticated('The token is not a well-formed signed JWT.');
  }
  return new Error(`The token could not be checked: ${messageOf(error)}`, { cause: error });
}

function claimProblem(error: errors.JWTClaimValidationFailed): string {
  if (error.reason === 'missing') return `The token has no "${error.claim}" claim.`;
  if (error.claim === 'aud') return 'The token was issued for another audience.';
  if (error.claim === 'iss') return 'The token was issued by another issuer.';
  if (error.claim === 'nbf') return 'The token is not valid yet.';
  return `The token's "${error.claim}" claim is not acceptable.`;
}

function unauthenticated(message: string, claim?: string): DomainError {
  return new DomainError('UNAUTHENTICATED', message, claim === undefined ? {} : { claim });
}
