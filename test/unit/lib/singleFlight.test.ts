/** One run for many callers that ask at the same time. */
import { expect, it } from 'vitest';
import { freshSingleFlight, singleFlight, singleFlightByKey } from '../../../src/lib/singleFlight.ts';

/** Numbered runs that end when the test ends them. */
function controlledRuns() {
  const ends: ((error?: Error) => void)[] = [];
  const run = () =>
    new Promise<number>((resolve, reject) => {
      const number = ends.length;
      ends.push((error) => (error ? reject(error) : resolve(number)));
    });
  return { ends, run };
}

it('a shared run answers all who ask while it is under way, and none after it', async () => {
  const { ends, run } = controlledRuns();
  const ask = singleFlight(run);
  const asked = [ask(), ask()];
  ends[0]?.(new Error('lost'));
  expect(await Promise.allSettled(asked)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  const again = ask();
  ends[1]?.();
  expect(await again).toBe(1);
  expect(ends).toHaveLength(2);
});

it('runs are shared by their keys', async () => {
  const { ends, run } = controlledRuns();
  const share = singleFlightByKey<number>();
  const asked = [share('one', run), share('other', run), share('one', run)];
  expect(ends).toHaveLength(2);
  for (const end of ends) end();
  expect(await Promise.all(asked)).toEqual([0, 1, 0]);
});

it('a fresh run begins after all questions that it answers', async () => {
  const { ends, run } = controlledRuns();
  const ask = freshSingleFlight(run);
  const first = ask();
  const later = [ask(), ask()];
  expect(ends).toHaveLength(1);
  ends[0]?.();
  expect(await first).toBe(0);
  await expect.poll(() => ends.length).toBe(2);
  ends[1]?.();
  expect(await Promise.all(later)).toEqual([1, 1]);
});

it('a fresh run has ended before the next one begins, also for who has just been answered', async () => {
  const { ends, run } = controlledRuns();
  const ask = freshSingleFlight(run);
  const again = ask().then(() => ask());
  const meanwhile = ask();
  ends[0]?.();
  await expect.poll(() => ends.length).toBe(2);
  ends[1]?.();
  expect(await Promise.all([again, meanwhile])).toEqual([1, 1]);
  expect(ends).toHaveLength(2);
});
