/**
 * Time and randomness as values that are passed in, so that tests can fix them.
 */
import { v7 as uuidv7 } from 'uuid';

export interface Clock {
  now(): Date;
}

export interface IdSource {
  /** A UUID of version 7: unique and ordered by time, which keeps indexes compact. */
  next(): string;
}

export const systemClock: Clock = { now: () => new Date() };

/** @param random by default the uuid library's own, which takes the bytes for many ids at once */
export function createIdSource(clock: Clock, random?: (size: number) => Uint8Array): IdSource {
  return { next: () => uuidv7({ msecs: clock.now().getTime(), random: random?.(16) }) };
}

/** Whole seconds since 1970, rounded down. */
export function unixSeconds(moment: Date): bigint {
  return BigInt(Math.floor(moment.getTime() / 1000));
}
