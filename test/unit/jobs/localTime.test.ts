/**
 * Daily times in a time zone: each day has one such time, also when the clock changes at that hour.
 */
import { expect, it } from 'vitest';
import { nextTimeOf } from '../../../src/jobs/localTime.ts';

it.each([
  ['2026-03-10T02:59:59Z', 'UTC', '2026-03-10T03:00:00Z'],
  ['2026-03-10T03:00:00Z', 'UTC', '2026-03-11T03:00:00Z'],
  ['2026-12-31T23:30:00Z', 'Asia/Kathmandu', '2027-01-01T21:15:00Z'],
  ['2028-02-28T12:00:00Z', 'America/New_York', '2028-02-29T08:00:00Z'],
  // Helsinki has no three o'clock in one of these nights, and two in the other.
  ['2026-03-28T22:00:00Z', 'Europe/Helsinki', '2026-03-29T01:00:00Z'],
  ['2026-10-24T22:00:00Z', 'Europe/Helsinki', '2026-10-25T00:00:00Z'],
  ['2026-10-25T00:30:00Z', 'Europe/Helsinki', '2026-10-26T01:00:00Z'],
])('after %s in %s three o’clock is %s', (now, timeZone, next) => {
  expect(nextTimeOf(3, new Date(now), timeZone)).toEqual(new Date(next));
});
