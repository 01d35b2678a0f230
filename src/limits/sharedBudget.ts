/**
 * A budget of points per key and window, counted in memory and shared with other instances through the database.
 *
 * Deciding never waits for the database: an instance counts by itself, tells the table every second what was
 * spent, and takes over what all have spent together. Several instances therefore let through at most what
 * arrives within a second, and a small share of the budget each, more than one would. While the database is
 * away each counts for itself.
 */
import { RateLimiterDrizzle, RateLimiterMemory } from 'rate-limiter-flexible';
import type { Db } from '../db/connection.ts';
import { rateLimits } from '../db/schema/index.ts';

export interface Policy {
  /** As the RateLimit headers name it. */
  name: string;
  points: number;
  windowSeconds: number;
}

export interface Usage {
  policy: Policy;
  remainingPoints: number;
  /** When the window ends and the counting begins anew. */
  resetSeconds: number;
  isOverspent: boolean;
}

export interface SharedBudget {
  spend(key: string, points: number): Promise<Usage>;
  /** What spending nothing would answer. */
  look(key: string): Promise<Usage>;
  /** Tells the table what was spent here, and learns what was spent elsewhere. @throws when it can't be reached */
  share(): Promise<void>;
}

/** A key that spent less than this part of its budget is nobody else's business: most never are. */
const SHARED_FROM = 1 / 50;
/** Keys in one window; beyond that, new ones share one budget, so that made-up addresses can't fill the memory. */
const MAX_KEYS = 50_000;
const EVERYBODY_ELSE = 'everybody else';
/** Statements at a time. */
const SHARED_AT_ONCE = 8;

interface Tracked {
  /** Spent here, and not in the table yet. */
  unsharedPoints: number;
  endsAtMs: number;
}

/** @param db null where no other instance counts with this one. */
export function createSharedBudget(policy: Policy, db: Db | null): SharedBudget {
  const { name: keyPrefix, points, windowSeconds: duration } = policy;
  const memory = new RateLimiterMemory({ keyPrefix, points, duration });
  const table =
    db === null
      ? null
      : new RateLimiterDrizzle({
          storeClient: db,
          schema: rateLimits,
          keyPrefix,
          points,
          duration,
          clearExpiredByTimeout: false,
        });
  const tracked = new Map<string, Tracked>();
  const usageOf = (consumedPoints: number, msBeforeNext: number): Usage => ({
    policy,
    remainingPoints: Math.max(points - consumedPoints, 0),
    resetSeconds: Math.max(Math.ceil(msBeforeNext / 1000), 1),
    isOverspent: consumedPoints > points,
  });
  const shareKey = async (store: RateLimiterDrizzle, key: string, entry: Tracked) => {
    const spent = entry.unsharedPoints;
    entry.unsharedPoints = 0;
    try {
      const { consumedPoints, msBeforeNext } = await store.penalty(key, spent);
      if (msBeforeNext <= 0) return;
      await memory.set(key, consumedPoints + entry.unsharedPoints, msBeforeNext / 1000);
      entry.endsAtMs = Date.now() + msBeforeNext;
    } catch (error) {
      entry.unsharedPoints += spent;
      throw error;
    }
  };

  return {
    async spend(asked, spent) {
      const key = tracked.has(asked) || tracked.size < MAX_KEYS ? asked : EVERYBODY_ELSE;
      const { consumedPoints, msBeforeNext } = await memory.penalty(key, spent);
      const entry = tracked.get(key) ?? { unsharedPoints: 0, endsAtMs: 0 };
      entry.unsharedPoints += spent;
      entry.endsAtMs = Date.now() + msBeforeNext;
      tracked.set(key, entry);
      return usageOf(consumedPoints, msBeforeNext);
    },
    async look(key) {
      const known = await memory.get(key);
      const isOver = known === null || known.msBeforeNext <= 0;
      return isOver ? usageOf(0, 0) : usageOf(known.consumedPoints, known.msBeforeNext);
    },
    async share() {
      const nowMs = Date.now();
      for (const [key, entry] of tracked) if (entry.endsAtMs <= nowMs) tracked.delete(key);
      if (table === null) return;
      const due = [...tracked].filter(([, entry]) => entry.unsharedPoints >= points * SHARED_FROM);
      for (let i = 0; i < due.length; i += SHARED_AT_ONCE) {
        await Promise.all(
          due.slice(i, i + SHARED_AT_ONCE).map(([key, entry]) => shareKey(table, key, entry)),
        );
      }
    },
  };
}
