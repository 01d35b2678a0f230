/**
 * The subscribers that wait for the feed to grow.
 */
import { expect, it } from 'vitest';
import { createWaiting } from '../../../src/feed/feedTail.ts';

const waiter = (wake: () => void) => ({ place: -1, wake });

it('wakes each subscriber once, also one that waits again at once because nothing matched', () => {
  const waiting = createWaiting();
  let woken = 0;
  const subscriber = waiter(() => {
    woken += 1;
    // Ends a possible endless loop, which would hang the test.
    if (woken < 100) waiting.onceGrown(subscriber);
  });
  waiting.onceGrown(subscriber);
  waiting.onceGrown(subscriber);
  waiting.wakeAll();
  expect(woken).toBe(1);
  waiting.wakeAll();
  expect(woken).toBe(2);
});

it('wakes once, and in the same round, one that another stops while both are woken', () => {
  const waiting = createWaiting();
  const woken: string[] = [];
  const second = waiter(() => woken.push('second'));
  const first = waiter(() => {
    woken.push('first');
    // The second subscriber no longer waits: it sees in its own turn that it has ended.
    expect(waiting.stopWaiting(second)).toBe(false);
  });
  waiting.onceGrown(first);
  waiting.onceGrown(second);
  waiting.wakeAll();
  expect(woken).toEqual(['first', 'second']);
});

it('does not wake those that have stopped waiting, in whatever order, and says which waited', () => {
  const waiting = createWaiting();
  const woken: number[] = [];
  const waiters = [0, 1, 2, 3, 4].map((number) => waiter(() => woken.push(number)));
  const stop = (number: number) => waiting.stopWaiting(waiters[number] ?? expect.fail());
  expect(stop(0)).toBe(false);
  for (const each of waiters) waiting.onceGrown(each);
  expect([stop(1), stop(4), stop(1), stop(0)]).toEqual([true, true, false, true]);
  waiting.wakeAll();
  expect(new Set(woken)).toEqual(new Set([2, 3]));
  expect(stop(2)).toBe(false);
});
