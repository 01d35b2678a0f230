/**
 * Who waits for the feed to grow.
 */
import { expect, it } from 'vitest';
import { createWaiting } from '../../../src/feed/feedTail.ts';

it('wakes each subscriber once, also one that waits again at once because nothing matched', () => {
  const waiting = createWaiting();
  let woken = 0;
  const waitAgain = () => {
    woken += 1;
    // Without an end of its own, a loop here would never fail.
    if (woken < 100) waiting.onceGrown(waitAgain);
  };
  waiting.onceGrown(waitAgain);
  waiting.wakeAll();
  expect(woken).toBe(1);
  waiting.wakeAll();
  expect(woken).toBe(2);
});

it('wakes once, and in the same round, one that another stops while both are woken', () => {
  const waiting = createWaiting();
  const woken: string[] = [];
  const second = () => woken.push('second');
  const first = () => {
    woken.push('first');
    // It does not wait any more, and its turn comes: it sees then that it has ended.
    expect(waiting.stopWaiting(second)).toBe(false);
  };
  waiting.onceGrown(first);
  waiting.onceGrown(second);
  waiting.wakeAll();
  expect(woken).toEqual(['first', 'second']);
});

it('does not wake one that has stopped waiting, and says whether it waited', () => {
  const waiting = createWaiting();
  let woken = 0;
  const wake = () => (woken += 1);
  expect(waiting.stopWaiting(wake)).toBe(false);
  waiting.onceGrown(wake);
  expect(waiting.stopWaiting(wake)).toBe(true);
  waiting.wakeAll();
  expect(woken).toBe(0);
});
