/**
 * Budgets that refill steadily: bursts up to the capacity, and no more than the refill for long. One by itself, or one for
 * each key.
 */
import { LRUCache } from 'lru-cache';

export interface TokenBucket {
  /** Takes points, also more than are left. @returns whether as many were left */
  take(points: number): boolean;
  /** Seconds until something is left again; 0 when something is. */
  waitSeconds(): number;
}

interface TokenBuckets {
  take(key: string, points: number): boolean;
  waitSeconds(key: string): number;
}

interface Rate {
  capacity: number;
  perSecond: number;
}

/** Limit on keys. The one that was idle for longest starts again with a full bucket, as it would have by then. */
const MAX_KEYS = 50_000;

/** @param nowMs a clock that never goes back. */
export function createTokenBucket(rate: Rate, nowMs: () => number): TokenBucket {
  return new Bucket(rate, nowMs);
}

/** A class, because every socket has two: with functions of its own, each takes three times the memory. */
class Bucket implements TokenBucket {
  private readonly rate: Rate;
  private readonly nowMs: () => number;
  /** Below 0 when more was taken than was left. */
  private left: number;
  private atMs: number;

  constructor(rate: Rate, nowMs: () => number) {
    this.rate = rate;
    this.nowMs = nowMs;
    this.left = rate.capacity;
    this.atMs = nowMs();
  }

  take(points: number): boolean {
    this.refill();
    const isEnough = this.left >= points;
    // A bounded debt: one large charge does not shut a client out for minutes.
    this.left = Math.max(this.left - points, -this.rate.capacity);
    return isEnough;
  }

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

/** Made once for a server: the room for all keys is taken at once. @param nowMs a clock that never goes back. */
export function createTokenBuckets(rate: Rate, nowMs: () => number): TokenBuckets {
  const buckets = new LRUCache<string, TokenBucket>({ max: MAX_KEYS });
  return {
    take(key, points) {
      let bucket = buckets.get(key);
      if (bucket === undefined) {
        bucket = createTokenBucket(rate, nowMs);
        buckets.set(key, bucket);
      }
      return bucket.take(points);
    },
    waitSeconds: (key) => buckets.get(key)?.waitSeconds() ?? 0,
  };
}
