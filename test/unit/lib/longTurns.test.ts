import { expect, it } from 'vitest';
import { pauseInLongTurn } from '../../../src/lib/longTurns.ts';

it('lets others in after five milliseconds of work, and not before', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    setImmediate(count);
  };
  expect(pauseInLongTurn()).toBeNull();
  count();
  let pauses = 0;
  for (let part = 0; part < 30; part++) {
    const untilMs = performance.now() + 1;
    while (performance.now() < untilMs);
    const pause = pauseInLongTurn();
    if (pause === null) continue;
    pauses += 1;
    await pause;
  }
  expect(pauses).toBeGreaterThanOrEqual(4);
  expect(pauses).toBeLessThanOrEqual(6);
  expect(turns).toBeGreaterThan(pauses);
});
