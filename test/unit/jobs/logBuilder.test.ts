/**
 * The polls of the transparency logs' builder: none is the last but by a stop, which waits for the step under
 * way.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLogBuilder } from '../../../src/jobs/logBuilder.ts';
import type { LogName } from '../../../src/transparency/leaves.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

type Build = (log: LogName, isOver?: () => boolean) => Promise<void>;

/** A builder of these logs, which are behind until the test says otherwise. */
function builderOf({ build = async () => undefined }: { build?: Build }) {
  const state = { behind: ['audit', 'transfers'] as LogName[], isAway: false, polls: 0, warnings: 0 };
  const builder = createLogBuilder({
    logs: {
      async findBehind() {
        state.polls += 1;
        if (state.isAway) throw new Error('the database is away');
        return state.behind;
      },
      build,
    },
    log: { warn: () => void (state.warnings += 1) },
  } as unknown as Parameters<typeof createLogBuilder>[0]);
  /** The polls in each of the next seconds. */
  const pollsIn = async (seconds: number) => {
    const counts: number[] = [];
    for (let second = 0; second < seconds; second += 1) {
      const before = state.polls;
      await vi.advanceTimersByTimeAsync(1_000);
      counts.push(state.polls - before);
    }
    return counts;
  };
  return { builder, state, pollsIn };
}

it('polls each second while there is work, and each fourth second when there is none', async () => {
  const { builder, state, pollsIn } = builderOf({});
  builder.start();
  expect(await pollsIn(3)).toEqual([1, 1, 1]);
  state.behind = [];
  expect(await pollsIn(11)).toEqual([1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]);
  state.behind = ['audit'];
  expect(await pollsIn(6)).toEqual([0, 0, 0, 1, 1, 1]);
  await builder.stop();
});

it('builds the others when one does not grow, and goes on each fourth second', async () => {
  const built: LogName[] = [];
  const build = async (log: LogName) => {
    if (log === 'audit') throw new Error('damaged');
    built.push(log);
  };
  const { builder, state, pollsIn } = builderOf({ build });
  builder.start();
  expect(await pollsIn(5)).toEqual([1, 0, 0, 0, 1]);
  expect([built, state.warnings]).toEqual([['transfers', 'transfers'], 2]);
  state.isAway = true;
  expect(await pollsIn(8)).toEqual([0, 0, 0, 1, 0, 0, 0, 1]);
  expect(state.warnings).toBe(4);
  await builder.stop();
});

it('waits at its stop for the step under way, the last one', async () => {
  let isOver = () => false;
  let end = () => {};
  const build: Build = (_log, isStopped = isOver) => {
    isOver = isStopped;
    return new Promise((resolve) => (end = resolve));
  };
  const { builder, state, pollsIn } = builderOf({ build });
  state.behind = ['audit'];
  builder.start();
  await pollsIn(1);
  expect(isOver()).toBe(false);
  let isStopped = false;
  const stopped = builder.stop().then(() => (isStopped = true));
  await pollsIn(1);
  expect([isOver(), isStopped]).toEqual([true, false]);
  end();
  await stopped;
  expect(vi.getTimerCount()).toBe(0);
});

it('polls no more when it is stopped between two polls', async () => {
  const { builder, pollsIn } = builderOf({});
  builder.start();
  await pollsIn(1);
  await builder.stop();
  expect(vi.getTimerCount()).toBe(0);
});
