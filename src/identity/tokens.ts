/**
 * Bearer tokens: signed for development and tests, verified for everybody.
 *
 * The algorithms are pinned by the kind of key, never taken from the token: a shared secret verifies HS256
 * alone and a JWKS verifies public-key algorithms alone, so a public key can't be misused as a secret and
 * `alg: none` is never read.
 */
import { createRemoteJWKSet, errors, jwtVerify, SignJWT } from 'jose';
import type { JWTPayload, JWTVerifyOptions } from 'jose';
import type { Clock } from '../clock.ts';
import { DomainError, messageOf } from '../errors.ts';
import type { Caller, Role } from './roles.ts';
import { isRole, ROLES, SUBJECT_PATTERN } from './roles.ts';

/** Below 32 bytes an HS256 secret is easier to guess than the hash is to break. */
export const MIN_SECRET_BYTES = 32;

/** A token with six roles is under 500 characters; this leaves room for what identity providers add. */
const MAX_TOKEN_LENGTH = 8192;

/** More than this are an operator's business; and a token has to fit into a header. */
const MAX_WAREHOUSES = 100;

/** Clocks of an identity provider and of this server may differ by this much. */
const CLOCK_TOLERANCE_SECONDS = 5;

/** A request waits at most this long for the identity provider's keys. */
const JWKS_TIMEOUT_MS = 5_000;

const SECRET_ALGORITHMS = ['HS256'];
const JWKS_ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];

/** Turns a token into its caller. @throws DomainError UNAUTHENTICATED, saying what is wrong with the token */
export type TokenVerifier = (token: string) => Promise<Caller>;

export interface TokenClaims {
  issuer: string;
  audience: string;
  subject: string;
  roles: readonly Role[];
  expiresInSeconds: number;
}

export type TokenKey = { secret: string; jwksUrl?: undefined } | { jwksUrl: string; secret?: undefined };

/**
 * A token that `createTokenVerifier` with the same secret, issuer and audience accepts.
 */
export async function signToken(
  options: TokenClaims & { secret: string; now: Clock['now'] },
): Promise<string> {
  if (!SUBJECT_PATTERN.test(options.subject)) {
    throw new Error(
      `The subject ${JSON.stringify(options.subject)} can't be put in a token: use 1 to 128 letters, digits ` +
        'and . _ : @ | + -, beginning with a letter or digit.',
    );
  }
  const issuedAt = Math.floor(options.now().getTime() / 1000);
  return new SignJWT({ roles: [...options.roles] })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(options.subject)
    .setIssuer(options.issuer)
    .setAudience(options.audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + options.expiresInSeconds)
    .sign(secretKey(options.secret));
}

/**
 * An unreachable JWKS is not the caller's fault: it is thrown as a plain error, which is logged and masked.
 */
export function createTokenVerifier(
  options: TokenKey & { issuer: string; audience: string; now: Clock['now'] },
): TokenVerifier {
  const verify = signatureVerifier(options);
  return async (token) => {
    if (token.length > MAX_TOKEN_LENGTH) {
      throw unauthenticated(
        `The token has ${token.length} characters; at most ${MAX_TOKEN_LENGTH} are accepted.`,
      );
    }
    try {
      return callerOf(
        await verify(token, {
          issuer: options.issuer,
          audience: options.audience,
          requiredClaims: ['exp', 'sub', 'iss', 'aud'],
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          currentDate: options.now(),
        }),
      );
    } catch (error) {
      throw explain(error);
    }
  };
}

type SignatureVerifier = (token: string, options: JWTVerifyOptions) => Promise<JWTPayload>;

function signatureVerifier(key: TokenKey): SignatureVerifier {
  if (key.secret !== undefined) {
    const secret = secretKey(key.secret);
    return async (token, options) => {
      const verified = await jwtVerify(token, secret, { ...options, algorithms: SECRET_ALGORITHMS });
      return verified.payload;
    };
  }
  const keys = createRemoteJWKSet(new URL(key.jwksUrl), { timeoutDuration: JWKS_TIMEOUT_MS });
  return async (token, options) => {
    const verified = await jwtVerify(token, keys, { ...options, algorithms: JWKS_ALGORITHMS });
    return verified.payload;
  };
}

function secretKey(secret: string): Uint8Array {
  const bytes = new TextEncoder().encode(secret);
  if (bytes.length < MIN_SECRET_BYTES) {
    throw new Error(`The token secret has ${bytes.length} bytes; at least ${MIN_SECRET_BYTES} are needed.`);
  }
  return bytes;
}

function callerOf(payload: JWTPayload): Caller {
  const { sub, exp, roles, warehouseIds = [sub] } = payload;
  if (typeof sub !== 'string' || !SUBJECT_PATTERN.test(sub)) {
    throw unauthenticated(
      'The token\'s "sub" must be 1 to 128 letters, digits and . _ : @ | + -, beginning with a letter or digit.',
      'sub',
    );
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
      `The token's "warehouseIds" must be a list of at most ${MAX_WAREHOUSES} warehouse ids.`,
      'warehouseIds',
    );
  }
  return { subject: sub, roles: [...new Set(roles)], warehouseIds, expiresAt: Number(exp), apiKeyId: null };
}

function isSubjectList(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= MAX_WAREHOUSES &&
    value.every((id) => typeof id === 'string' && SUBJECT_PATTERN.test(id))
  );
}

/** Each way of being wrong gets its own sentence; none repeats the token. */
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
