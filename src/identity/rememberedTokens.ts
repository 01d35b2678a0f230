/**
 * Remembers the callers of verified tokens, so that a client's signature is verified once a minute instead of
 * at each request. Tokens are known by their hash and do not stay in memory themselves.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import type { Caller } from './roles.ts';
import type { TokenVerifier } from './tokens.ts';

/** More callers than one instance serves in a minute; each costs about a kilobyte. */
const MAX_REMEMBERED = 10_000;
/** A withdrawn key is asked for again this late, and then as late as providerKeys.ts notices. */
const REMEMBERED_MS = 60_000;

interface Remembered {
  caller: Caller;
  verifiedAtMs: number;
}

/** @param isOver whether a token of this caller has expired by now, as `verify` judges it */
export function rememberTokens(
  verify: TokenVerifier,
  now: Clock['now'],
  isOver: (caller: Caller, nowMs: number) => boolean,
): TokenVerifier {
  const remembered = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  return async (token) => {
    const key = hash('sha256', token, 'base64');
    const known = remembered.get(key);
    if (known !== undefined) {
      const nowMs = now().getTime();
      // After the clock was set back, the age of the verification is unknown.
      const ageMs = nowMs - known.verifiedAtMs;
      if (ageMs >= 0 && ageMs < REMEMBERED_MS && !isOver(known.caller, nowMs)) return known.caller;
      remembered.delete(key);
    }
    const caller = await verify(token);
    remembered.set(key, { caller, verifiedAtMs: now().getTime() });
    return caller;
  };
}
