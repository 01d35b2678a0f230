import { describe, expect, it } from 'vitest';
import { createRefusalDelays } from '../../../src/limits/refusalDelays.ts';

function delays() {
  const time = { nowMs: 0 };
  const waits: number[] = [];
  const wait = async (ms: number) => void waits.push(ms);
  return { time, waits, delayRefusal: createRefusalDelays(() => time.nowMs, wait) };
}

describe('refusals of one key', () => {
  it('come at once when there were none lately, and then 10 ms apart', async () => {
    const { time, waits, delayRefusal } = delays();
    for (let i = 0; i < 4; i++) await delayRefusal('a');
    expect(waits).toEqual([10, 20, 30]);
    time.nowMs = 35;
    await delayRefusal('a');
    expect(waits).toEqual([10, 20, 30, 5]);
    time.nowMs = 1_000;
    await delayRefusal('a');
    expect(waits).toHaveLength(4);
    // A time without refusals is not saved up for a burst of them.
    await delayRefusal('a');
    expect(waits.at(-1)).toBe(10);
  });

  it('do not delay those of another', async () => {
    const { waits, delayRefusal } = delays();
    for (let i = 0; i < 4; i++) await delayRefusal('a');
    await delayRefusal('b');
    expect(waits).toHaveLength(3);
  });

  it('wait 5 s at most, however many there are', async () => {
    const { time, waits, delayRefusal } = delays();
    for (let i = 0; i < 600; i++) await delayRefusal('a');
    expect(Math.max(...waits)).toBe(5_000);
    time.nowMs = 5_010;
    await delayRefusal('a');
    expect(waits).toHaveLength(599);
  });
});
