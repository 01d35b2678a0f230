/**
 * A budget of points per key and window, counted in memory and shared with other instances through the database.
 *
 * A decision never waits for the database: each instance counts locally, adds its spending to the table every second,
 * and reads the total of all. Several instances therefore admit at most one second's requests, and a small share of the
 * budget each, more than one instance would. While the database is unavailable each counts on its own.
 */
import { RateLimiterDrizzle, RateLimiterMemory } from 'rate-limiter-flexible';
import type { Db } from '../db/connection.ts';
import { rateLimits } from '../db/tables/index.ts';
import { chunksOf } from '../lib/chunksOf.ts';

interface Policy {
  /** Its name in the RateLimit headers. */
  name: string;
  /** Where it is stored: its name, unless policies of the same name count different kinds of keys. */
  keyPrefix?: string;
  points: number;
  windowSeconds: number;
}

export interface Usage {
  policy: Policy;
  remainingPoints: number;
  /** When the window ends. */
  resetSeconds: number;
  isOverspent: boolean;
}

export interface SharedBudget {
  spend(key: string, points: number): Promise<Usage>;
  /** The usage, without spending. */
  look(key: string): Promise<Usage>;
  /** Writes local spending to the table, and reads the total. @throws when the database can't be reached */
  share(): Promise<void>;
}

/** Spending below this share of the budget is not shared: most keys never exceed it. */
const SHARED_FROM = 1 / 50;
/**
 * Limit on keys in one window, so that invented addresses can't fill the memory. Further keys share the budgets of their groups, of which
 * there may be as many, and beyond that one.
 */
const MAX_KEYS = 50_000;
const OVERFLOW_KEY = 'all other keys';
/** Concurrent statements. */
const SHARED_AT_ONCE = 8;

interface Tracked {
  /** Spent locally, and not in the table yet. */
  unsharedPoints: number;
  endsAtMs: number;
}

/**
 * @param db null where no other instance counts with this one.
 * @param groupOf the group that a key beyond the limit is counted with, null for one with all others of its kind
 */
export function createSharedBudget(
  policy: Policy,
  db: Db | null,
  groupOf: (key: string) => string | null = () => null,
): SharedBudget {
  const { keyPrefix = policy.name, points, windowSeconds: duration } = policy;
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
  const countedAs = (key: string): string => {
    if (tracked.has(key) || tracked.size < MAX_KEYS) return key;
    const group = groupOf(key) ?? OVERFLOW_KEY;
    return tracked.has(group) || tracked.size < 2 * MAX_KEYS ? group : OVERFLOW_KEY;
  };
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
      const key = countedAs(asked);
      const { consumedPoints, msBeforeNext } = await memory.penalty(key, spent);
      const entry = tracked.get(key) ?? { unsharedPoints: 0, endsAtMs: 0 };
      entry.unsharedPoints += spent;
      entry.endsAtMs = Date.now() + msBeforeNext;
      tracked.set(key, entry);
      return usageOf(policy, consumedPoints, msBeforeNext);
    },
    async look(key) {
      const known = await memory.get(countedAs(key));
      const isOver = known === null || known.msBeforeNext <= 0;
      return isOver ? usageOf(policy, 0, 0) : usageOf(policy, known.consumedPoints, known.msBeforeNext);
    },
    async share() {
      const nowMs = Date.now();
      for (const [key, entry] of tracked) if (entry.endsAtMs <= nowMs) tracked.delete(key);
      if (table === null) return;
      const due = [...tracked].filter(([, entry]) => entry.unsharedPoints >= points * SHARED_FROM);
      for (const together of chunksOf(due, SHARED_AT_ONCE)) {
        await Promise.all(together.map(([key, entry]) => shareKey(table, key, entry)));
      }
    },
  };
}

function usageOf(policy: Policy, consumedPoints: number, msBeforeNext: number): Usage {
  return {
    policy,
    remainingPoints: Math.max(policy.points - consumedPoints, 0),
    resetSeconds: Math.max(Math.ceil(msBeforeNext / 1000), 1),
    isOverspent: consumedPoints > policy.points,
  };
}
