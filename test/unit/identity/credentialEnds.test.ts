/**
 * The moment at which sockets and streams learn that their token has expired.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { endsByExpiry } from '../../../src/identity/credentialEnds.ts';
import type { Caller } from '../../../src/identity/roles.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const HOUR_SECONDS = 3600;

it('is within a minute where the clock was set, or the machine slept, meanwhile', () => {
  let nowSeconds = 1_800_000_000;
  const clock = { now: () => new Date(nowSeconds * 1000) };
  const caller: Caller = {
    subject: 'acme',
    roles: ['buyer'],
    warehouseIds: [],
    expiresAt: nowSeconds + HOUR_SECONDS,
    apiKeyId: null,
    jti: null,
    issuedAt: null,
  };
  const ended: string[] = [];
  endsByExpiry(clock).watch(caller, (reason) => ended.push(reason));
  vi.advanceTimersByTime(120_000);
  expect(ended).toEqual([]);
  // Timers did not run during the sleep.
  nowSeconds += HOUR_SECONDS;
  vi.advanceTimersByTime(60_000);
  expect(ended).toEqual(['The token has expired.']);
});
