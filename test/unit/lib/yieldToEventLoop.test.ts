import { expect, it } from 'vitest';
import { createYield } from '../../../src/lib/yieldToEventLoop.ts';

it('lets others in after five milliseconds of work, and not before', async () => {
  let nowMs = 0;
  const yieldToEventLoop = createYield(() => nowMs);
  let turns = 0;
  const count = () => {
    turns += 1;
    setImmediate(count);
  };
  expect(yieldToEventLoop()).toBeNull();
  count();
  const pausedAtMs: number[] = [];
  for (let part = 0; part < 20; part++) {
    nowMs += 1;
    const pause = yieldToEventLoop();
    if (pause === null) continue;
    pausedAtMs.push(nowMs);
    await pause;
  }
  // The first part after a pause begins the next turn.
  expect(pausedAtMs).toEqual([5, 11, 17]);
  expect(turns).toBeGreaterThan(pausedAtMs.length);
});
