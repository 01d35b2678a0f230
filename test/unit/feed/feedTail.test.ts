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
