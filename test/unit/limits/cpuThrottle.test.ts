import { describe, expect, it } from 'vitest';
import { createCpuThrottle } from '../../../src/limits/cpuThrottle.ts';

/** A throttle with a clock that only `wait` advances, `lateMs` too far. */
function throttleWith(restShare = 2, stepMs = 1, lateMs = 0) {
  const time = { nowMs: 0 };
  const wait = async (ms: number) => {
    time.nowMs += ms + lateMs;
  };
  return { time, throttle: createCpuThrottle({ restShare, stepMs }, () => time.nowMs, wait) };
}

describe('an address that computes', () => {
  it('rests twice as long before its next request', async () => {
    const { time, throttle } = throttleWith();
    expect(throttle.awaitTurn('a')).toBeNull();
    throttle.charge('a', 10);
    await throttle.awaitTurn('a');
    expect(time.nowMs).toBe(20);
  });

  it('goes on at once when it has rested, and holds up no other', async () => {
    const { time, throttle } = throttleWith();
    throttle.charge('a', 10);
    expect(throttle.awaitTurn('b')).toBeNull();
    time.nowMs = 20;
    expect(throttle.awaitTurn('a')).toBeNull();
    throttle.charge('a', 10);
    await throttle.awaitTurn('a');
    time.nowMs = 60;
    expect(throttle.awaitTurn('a')).toBeNull();
  });

  it('rests from what it computes now, however long it has computed nothing', async () => {
    const { time, throttle } = throttleWith();
    throttle.charge('a', 10);
    time.nowMs = 500;
    throttle.charge('a', 10);
    await throttle.awaitTurn('a');
    expect(time.nowMs).toBe(520);
  });

  it('has its waiting requests let in one after another, also after a timer that came late', async () => {
    const { time, throttle } = throttleWith(2, 1, 50);
    throttle.charge('a', 5);
    const begunMs: number[] = [];
    const ask = async () => {
      await throttle.awaitTurn('a');
      begunMs.push(time.nowMs);
    };
    await Promise.all([ask(), ask(), ask()]);
    expect(begunMs).toEqual([60, 111, 162]);
  });

  it('has its waiting requests let in one after another, each after what the one before it computed', async () => {
    const { time, throttle } = throttleWith();
    throttle.charge('a', 5);
    const begunMs: number[] = [];
    const ask = async (ms: number) => {
      await throttle.awaitTurn('a');
      begunMs.push(time.nowMs);
      throttle.charge('a', ms);
    };
    await Promise.all([ask(10), ask(1), ask(0)]);
    // A request that was let in adds its charge to the millisecond that follows it.
    expect(begunMs).toEqual([10, 31, 34]);
  });

  it('rests for a second at most, and lets a request in that has waited for five', async () => {
    const { time, throttle } = throttleWith();
    const begunMs: number[] = [];
    throttle.charge('a', 60_000);
    time.nowMs = 500;
    const asked = Array.from({ length: 8 }, async () => {
      await throttle.awaitTurn('a');
      begunMs.push(time.nowMs);
      throttle.charge('a', 60_000);
    });
    await Promise.all(asked);
    expect(begunMs).toEqual([1_000, 2_000, 3_000, 4_000, 5_000, 5_500, 5_500, 5_500]);
  });

  it('rests for a second at most after any number of requests that have waited for five', async () => {
    const { time, throttle } = throttleWith();
    throttle.charge('a', 60_000);
    const compute = async () => {
      await throttle.awaitTurn('a');
      time.nowMs = 5_000;
      throttle.charge('a', 60_000);
    };
    await Promise.all([compute(), ...Array.from({ length: 100 }, () => throttle.awaitTurn('a'))]);
    expect(time.nowMs).toBe(5_000);
    await throttle.awaitTurn('a');
    expect(time.nowMs).toBe(6_000);
  });

  it.each([
    [1, 10_000],
    [0.5, 5_000],
    [0.1, 1_000],
    [0.00003, 0],
  ])(
    'is held up by steps of %d ms alone, once what it asks for computes nothing',
    async (stepMs, takesMs) => {
      const { time, throttle } = throttleWith(2, stepMs);
      throttle.charge('a', 10);
      let begun = 0;
      const client = async () => {
        for (; begun < 10_000; begun++) await throttle.awaitTurn('a');
      };
      await Promise.all(Array.from({ length: 64 }, client));
      expect(time.nowMs - 20).toBeGreaterThanOrEqual(takesMs * 0.9);
      expect(time.nowMs - 20).toBeLessThanOrEqual(takesMs * 1.1 + 1);
    },
  );

  it('does not rest where the share is 0', () => {
    const { throttle } = throttleWith(0);
    throttle.charge('a', 1_000);
    expect(throttle.awaitTurn('a')).toBeNull();
  });
});
