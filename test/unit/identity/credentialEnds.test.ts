/**
 * The moment at which sockets and streams learn that their token has expired or is revoked.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createCredentialEnds, endsByExpiry } from '../../../src/identity/credentialEnds.ts';
import { callerOf } from '../../support/callers.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const HOUR_SECONDS = 3600;
const CALLER = callerOf('acme', 'buyer');

it('comes by a revocation too, where the watch of an earlier socket was ended twice', async () => {
  const revoked = new Set<string>();
  let read = async () => {};
  const ends = createCredentialEnds({
    // No API key is watched, so nothing is read.
    db: null as never,
    clock: { now: () => new Date(0) },
    credentialSignal: { onNotify: () => () => {} },
    tokenRevocations: {
      isRevoked: ({ subject }) => revoked.has(subject),
      onRead: (listener) => {
        read = listener;
        return () => {};
      },
      awaitCurrent: () => null,
    },
    log: { warn: () => {} },
  });
  const ended: string[] = [];
  const watch = (subject: string) =>
    ends.watch({ ...CALLER, subject, expiresAt: HOUR_SECONDS }, () => ended.push(subject));
  const unwatchFirst = watch('first');
  revoked.add('first');
  await read();
  watch('second');
  // As the socket does when it has closed.
  unwatchFirst();
  revoked.add('second');
  await read();
  expect(ended).toEqual(['first', 'second']);
});

it('is within a minute where the clock was set, or the machine slept, meanwhile', () => {
  let nowSeconds = 1_800_000_000;
  const clock = { now: () => new Date(nowSeconds * 1000) };
  const caller = { ...CALLER, expiresAt: nowSeconds + HOUR_SECONDS };
  const ended: string[] = [];
  endsByExpiry(clock).watch(caller, (reason) => ended.push(reason));
  vi.advanceTimersByTime(120_000);
  expect(ended).toEqual([]);
  // Timers did not run during the sleep.
  nowSeconds += HOUR_SECONDS;
  vi.advanceTimersByTime(60_000);
  expect(ended).toEqual(['The token has expired.']);
});
