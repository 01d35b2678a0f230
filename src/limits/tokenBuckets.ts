/**
 * Budgets that refill steadily: bursts up to the capacity, and in the long run no more than the refill. A
 * single budget, or one for each key.
 */
import { LRUCache } from 'lru-cache';
import { getOrMake } from '../lib/getOrMake.ts';

interface TokenBuckets {
  take(key: string, points: number): boolean;
  waitSeconds(key: string): number;
}

interface Rate {
  capacity: number;
  perSecond: number;
}

/** Maximum keys. The key that was idle for longest starts again with a full bucket, as it would anyway. */
const MAX_KEYS = 50_000;

/** A class, because every socket has two buckets: with closures, each takes three times the memory. */
export class TokenBucket {
  private readonly rate: Rate;
  private readonly nowMs: () => number;
  /** Below 0 when more was taken than was left. */
  private left: number;
  private atMs: number;

  /** @param nowMs a clock that never goes back */
  constructor(rate: Rate, nowMs: () => number) {
    this.rate = rate;
    this.nowMs = nowMs;
    this.left = rate.capacity;
    this.atMs = nowMs();
  }

  /** Takes points, also more than are left. @returns whether enough were left */
  take(points: number): boolean {
    this.refill();
    const isEnough = this.left >= points;
    // A bounded debt: one large charge does not shut a client out for minutes.
    this.left = Math.max(this.left - points, -this.rate.capacity);
    return isEnough;
  }

  /** Seconds until points are left again; 0 when points are left. */
  waitSeconds(): number {
    this.refill();
    return this.left > 0 ? 0 : Math.max(Math.ceil(-this.left / this.rate.perSecond), 1);
  }

  private refill(): void {
    const now = this.nowMs();
    const { capacity, perSecond } = this.rate;
    this.left = Math.min(capacity, this.left + ((now - this.atMs) / 1000) * perSecond);
    this.atMs = now;
  }
}

/**
 * Make it once for a server: it takes the room for all keys at once.
 * @param nowMs a clock that never goes back
 */
export function createTokenBuckets(rate: Rate, nowMs: () => number): TokenBuckets {
  const buckets = new LRUCache<string, TokenBucket>({ max: MAX_KEYS });
  return {
    take: (key, points) =>
      getOrMake<string, TokenBucket>(buckets, key, () => new TokenBucket(rate, nowMs)).take(points),
    waitSeconds: (key) => buckets.get(key)?.waitSeconds() ?? 0,
  };
}
