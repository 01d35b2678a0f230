/**
 * The keys of the identity provider, from its JWKS address.
 *
 *   read when older than a minute ─▶ answered: those keys alone, so a withdrawn key is refused
 *                                 └▶ no good answer: the last good ones, for an hour; then OVERLOADED
 */
import { createLocalJWKSet, createRemoteJWKSet, customFetch } from 'jose';
import type { FetchImplementation, JWTVerifyGetKey } from 'jose';
import { readBounded } from '../lib/boundedAnswer.ts';
import { DomainError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';

/** A withdrawn key is accepted for this long, and for as long again by the remembered tokens. */
const MAX_KEY_AGE_MS = 60_000;
/**
 * How long the last good keys are used without an answer of the provider: otherwise every caller would be
 * locked out. No withdrawal of a key is noticed meanwhile.
 */
const MAX_OUTAGE_MS = 3_600_000;
/** A request waits at most this long for the identity provider's keys. */
const TIMEOUT_MS = 5_000;
/** Identity providers publish a handful of keys of 1 to 2 kB each. */
const MAX_BYTES = 256 * 1024;

export function createProviderKeys(url: string, log?: Pick<Logger, 'warn'>): JWTVerifyGetKey {
  // Times are by the monotonic clock: a clock that is set back would keep withdrawn keys.
  let lastGood: { text: string; atMs: number } | null = null;
  let givenAtMs = Number.NEGATIVE_INFINITY;
  const fetchKeys: FetchImplementation = async (address, options) => {
    try {
      const text = await readKeys(address, options);
      lastGood = { text, atMs: performance.now() };
    } catch (err) {
      const isKept = lastGood !== null && performance.now() - lastGood.atMs < MAX_OUTAGE_MS;
      log?.warn({ err, isKept }, "the identity provider's keys could not be read at AUTH_JWKS_URL");
      if (!isKept) throw keysUnavailable(err);
    }
    // The time also counts for the last good keys: otherwise each request during an outage would ask for
    // keys, and wait for the timeout.
    givenAtMs = performance.now();
    return new Response(lastGood?.text);
  };
  const keys = createRemoteJWKSet(new URL(url), {
    // The keys' age is counted here, because jose counts it by the machine's clock.
    cacheMaxAge: Number.POSITIVE_INFINITY,
    timeoutDuration: TIMEOUT_MS,
    [customFetch]: fetchKeys,
  });
  return async (header, token) => {
    if (performance.now() - givenAtMs >= MAX_KEY_AGE_MS) await keys.reload();
    return keys(header, token);
  };
}

/** An endless answer must not fill the memory, and an answer without keys must not replace the known keys. */
async function readKeys(...[url, options]: Parameters<FetchImplementation>): Promise<string> {
  const answer = await fetch(url, options);
  if (answer.status !== 200) throw new Error(`it answered with status ${answer.status}`);
  const text = await readBounded(answer, MAX_BYTES, options.signal);
  createLocalJWKSet(JSON.parse(text));
  return text;
}

function keysUnavailable(cause: unknown): DomainError {
  return new DomainError(
    'OVERLOADED',
    "The identity provider's keys can't be read at the moment, so the token could not be checked. Try again shortly.",
    { retryAfterSeconds: 5 },
    { cause },
  );
}
