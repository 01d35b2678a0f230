/**
 * Caches the callers of verified tokens, so that a client's signature is verified once a minute instead of
 * at each request. Tokens are known by their hash and do not stay in memory themselves.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import type { Caller } from './roles.ts';
import type { TokenVerifier } from './tokens.ts';

/** More callers than one instance serves in a minute; each costs about a kilobyte. */
const MAX_CACHED = 10_000;
/** A withdrawn key is asked for again this late, and then as late as providerKeys.ts notices. */
const MAX_AGE_MS = 60_000;

interface Cached {
  caller: Caller;
  verifiedAtMs: number;
}

/** @param isOver whether a token of this caller has expired by now, as `verify` judges it */
export function cacheVerifiedTokens(
  verify: TokenVerifier,
  now: Clock['now'],
  isOver: (caller: Caller, nowMs: number) => boolean,
): TokenVerifier {
  const cached = new LRUCache<string, Cached>({ max: MAX_CACHED });
  return async (token) => {
    const key = hash('sha256', token, 'base64');
    const known = cached.get(key);
    if (known !== undefined) {
      const nowMs = now().getTime();
      // After the clock was set back, the age of the verification is unknown.
      const ageMs = nowMs - known.verifiedAtMs;
      if (ageMs >= 0 && ageMs < MAX_AGE_MS && !isOver(known.caller, nowMs)) return known.caller;
      cached.delete(key);
    }
    const caller = await verify(token);
    cached.set(key, { caller, verifiedAtMs: now().getTime() });
    return caller;
  };
}
