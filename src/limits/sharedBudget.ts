/**
 * A budget of points per key and window, counted in memory and shared between instances through the database.
 *
 * A decision never waits for the database: each instance counts locally, adds its spending to the table every
 * second, and reads the total of all. Several instances therefore admit at most one second's requests, and a
 * small share of the budget each, more than one instance would. While the database is unavailable each counts
 * on its own.
 */
import { sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { rateLimits } from '../db/tables/index.ts';
import { chunksOf } from '../lib/chunksOf.ts';

interface Policy {
  /** Its name in the RateLimit headers. */
  name: string;
  /** The prefix of stored keys: the name, unless policies of the same name count different kinds of keys. */
  keyPrefix?: string;
  points: number;
  windowSeconds: number;
}

export interface Usage {
  policy: Policy;
  remainingPoints: number;
  /** Seconds until the window ends. */
  resetSeconds: number;
  isOverspent: boolean;
}

export interface SharedBudget {
  spend(key: string, points: number): Usage;
  /** The usage, without spending. */
  peek(key: string): Usage;
  /** Writes local spending to the table, and reads the total. @throws when the database can't be reached */
  share(): Promise<void>;
}

/** Spending below this share of the budget is not shared: most keys never exceed it. */
const SHARED_FROM = 1 / 50;
/**
 * Maximum keys in one window, so that invented addresses can't fill the memory. Further keys share the
 * budgets of their groups, of which there may be as many, and beyond that one budget.
 */
const MAX_KEYS = 50_000;
const OVERFLOW_KEY = 'all other keys';
/** Maximum concurrent statements. */
const SHARED_AT_ONCE = 8;

interface Counted {
  /** Points spent on all instances, as far as this one knows. */
  points: number;
  /** Points spent here that are not in the table yet. */
  unsharedPoints: number;
  /** When the window ends, by performance.now(): no clock that is set moves it. */
  endsAtMs: number;
}

/**
 * @param db null when no other instance shares the budget
 * @param groupOf the group that counts a key beyond the limit; null for the group of all other keys
 */
export function createSharedBudget(
  policy: Policy,
  db: Db | null,
  groupOf: (key: string) => string | null = () => null,
): SharedBudget {
  const { keyPrefix = policy.name, points, windowSeconds: duration } = policy;
  const counted = new Map<string, Counted>();
  const countedAs = (key: string): string => {
    if (counted.has(key) || counted.size < MAX_KEYS) return key;
    const group = groupOf(key) ?? OVERFLOW_KEY;
    return counted.has(group) || counted.size < 2 * MAX_KEYS ? group : OVERFLOW_KEY;
  };
  return {
    spend(asked, spent) {
      const key = countedAs(asked);
      const nowMs = performance.now();
      const known = counted.get(key);
      const isOver = known === undefined || known.endsAtMs <= nowMs;
      // A new window is a new object: points that the old window has not shared are not spent from the new
      // one, even while they are being written.
      const entry = isOver ? { points: 0, unsharedPoints: 0, endsAtMs: nowMs + duration * 1000 } : known;
      entry.points += spent;
      entry.unsharedPoints += spent;
      counted.set(key, entry);
      return usageOf(policy, entry.points, entry.endsAtMs - nowMs);
    },
    peek(key) {
      const nowMs = performance.now();
      const entry = counted.get(countedAs(key));
      const isOver = entry === undefined || entry.endsAtMs <= nowMs;
      return isOver ? usageOf(policy, 0, 0) : usageOf(policy, entry.points, entry.endsAtMs - nowMs);
    },
    async share() {
      const nowMs = performance.now();
      for (const [key, entry] of counted) if (entry.endsAtMs <= nowMs) counted.delete(key);
      if (db === null) return;
      const due = [...counted].filter(([, entry]) => entry.unsharedPoints >= points * SHARED_FROM);
      for (const together of chunksOf(due, SHARED_AT_ONCE)) {
        await Promise.all(
          together.map(([key, entry]) => shareCounter(db, `${keyPrefix}:${key}`, entry, duration)),
        );
      }
    },
  };
}

/** Adds the local spending to the stored counter, and counts on from its value. */
async function shareCounter(db: Db, key: string, entry: Counted, windowSeconds: number): Promise<void> {
  const spent = entry.unsharedPoints;
  entry.unsharedPoints = 0;
  try {
    const stored = await addStored(db, key, spent, windowSeconds);
    entry.points = stored.points + entry.unsharedPoints;
    entry.endsAtMs = performance.now() + stored.msBeforeNext;
  } catch (error) {
    entry.unsharedPoints += spent;
    throw error;
  }
}

/**
 * Adds to the counter of a key, or begins its next window, by the database's clock: instances' clocks may be
 * days apart, and a window that one instance ends would last for days by another's clock.
 */
async function addStored(
  db: Db,
  key: string,
  spent: number,
  windowSeconds: number,
): Promise<{ points: number; msBeforeNext: number }> {
  const { points, endsAt } = rateLimits;
  const end = sql`now() + make_interval(secs => ${windowSeconds})`;
  // A window that ends much later began before the database's clock was set back. A window that ends a little
  // later was just begun by another instance, in a statement that began after this one.
  const isOver = sql`(${endsAt} <= now() OR ${endsAt} > ${end} + interval '10 seconds')`;
  const [stored] = await db
    .insert(rateLimits)
    .values({ key, points: spent, endsAt: end })
    .onConflictDoUpdate({
      target: rateLimits.key,
      set: {
        points: sql`CASE WHEN ${isOver} THEN excluded.points ELSE ${points} + excluded.points END`,
        endsAt: sql`CASE WHEN ${isOver} THEN excluded.ends_at ELSE ${endsAt} END`,
      },
    })
    .returning({ points, msBeforeNext: sql`extract(epoch FROM ${endsAt} - now()) * 1000`.mapWith(Number) });
  if (stored === undefined) throw new Error(`the counter of ${key} was not stored`);
  return stored;
}

function usageOf(policy: Policy, consumedPoints: number, msBeforeNext: number): Usage {
  return {
    policy,
    remainingPoints: Math.max(policy.points - consumedPoints, 0),
    // Another instance may have begun the stored window a little later, see addStored.
    resetSeconds: Math.min(Math.ceil(msBeforeNext / 1000), policy.windowSeconds),
    isOverspent: consumedPoints > policy.points,
  };
}
