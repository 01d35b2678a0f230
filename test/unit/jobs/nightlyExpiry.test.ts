/**
 * The requests of nightly runs: one for each night, under the name of what caused it, and none after the stop.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createNightlyExpiry } from '../../../src/jobs/nightlyExpiry.ts';

const POLL_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;

beforeEach(() => void vi.useFakeTimers({ now: new Date('2032-03-10T01:00:30Z') }));
afterEach(() => void vi.useRealTimers());

/** A schedule whose database's clock is that of the instance. */
function scheduleOf() {
  const requests: string[] = [];
  const state = { isAway: false, errors: 0 };
  const db = {
    insert: () => ({
      values: ({ trigger, night }: { trigger: string; night: string }) => ({
        onConflictDoNothing: () => ({
          async returning() {
            if (state.isAway) throw new Error('the database is away');
            requests.push(`${trigger} ${night}`);
            return [];
          },
        }),
      }),
    }),
  };
  const deps = {
    db,
    ids: { next: () => '' },
    log: { error: () => void (state.errors += 1) },
  } as unknown as Parameters<typeof createNightlyExpiry>[0];
  const nightly = createNightlyExpiry(deps, {
    timeZone: 'UTC',
    readTime: async () => new Date(),
    pollMs: POLL_MS,
  });
  return { nightly, requests, state };
}

it('requests the last night at the start, and each following night once', async () => {
  const { nightly, requests } = scheduleOf();
  await nightly.start();
  expect(requests).toEqual(['CATCH_UP 2032-03-09']);
  await vi.advanceTimersByTimeAsync(48 * HOUR_MS);
  expect(requests).toEqual(['CATCH_UP 2032-03-09', 'NIGHTLY 2032-03-10', 'NIGHTLY 2032-03-11']);
  nightly.stop();
});

it('requests a night at two o’clock, not at the next poll', async () => {
  const { nightly, requests } = scheduleOf();
  await nightly.start();
  await vi.advanceTimersByTimeAsync(Date.parse('2032-03-10T02:00:01Z') - Date.now());
  expect(requests).toEqual(['CATCH_UP 2032-03-09', 'NIGHTLY 2032-03-10']);
  nightly.stop();
});

it('requests a night again that could not be requested', async () => {
  const { nightly, requests, state } = scheduleOf();
  await nightly.start();
  state.isAway = true;
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  expect(state.errors).toBeGreaterThan(0);
  state.isAway = false;
  await vi.advanceTimersByTimeAsync(POLL_MS);
  expect(requests).toEqual(['CATCH_UP 2032-03-09', 'NIGHTLY 2032-03-10']);
  nightly.stop();
});

it('requests nothing once it is stopped', async () => {
  const { nightly } = scheduleOf();
  await nightly.start();
  nightly.stop();
  expect(vi.getTimerCount()).toBe(0);
});
