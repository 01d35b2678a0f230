/**
 * The questions of a due worker's loop while nothing happens, and the time of its claims.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createDueWorker, type DueWorker } from '../../../src/db/dueWorker.ts';
import type { Leased, Leases } from '../../../src/db/leases.ts';

const KEY = 'work';

/** A table of due times, and the worker's questions to it. */
function createTable() {
  const asked: ('first due' | 'claim')[] = [];
  let due: { id: string; atMs: number }[] = [];
  let wake: () => void = () => {};
  const leases: Omit<Leases<Leased>, 'claimWhere'> = {
    async claim() {
      asked.push('claim');
      const claimed = due.filter(({ atMs }) => atMs <= Date.now());
      due = due.filter(({ atMs }) => atMs > Date.now());
      return claimed.map(({ id }) => ({ id, dueAt: null }));
    },
    async firstDueInMs() {
      asked.push('first due');
      const [first] = due.map(({ atMs }) => atMs - Date.now()).sort((a, b) => a - b);
      return first ?? null;
    },
    isHeld: () => true,
    release: async () => {},
  };
  return {
    asked,
    leases,
    add: (id: string, inMs: number) => due.push({ id, atMs: Date.now() + inMs }),
    changeSignal: {
      notify: () => wake(),
      waitFor: (_key: string, timeoutMs: number) =>
        new Promise<void>((resolve) => {
          wake = resolve;
          setTimeout(resolve, timeoutMs);
        }),
    },
  };
}

let table: ReturnType<typeof createTable>;
let worker: DueWorker;
let processed: string[];

const GATHER_MS = 400;

const createWorker = (options: { gatherMs?: number; stepEnds?: (id: string) => Promise<void> } = {}) =>
  createDueWorker<Leased>({
    name: 'work',
    idField: 'workId',
    changeSignal: table.changeSignal,
    signalKey: KEY,
    maxConcurrent: 2,
    leases: table.leases,
    process: async ({ id }) => {
      processed.push(id);
      await options.stepEnds?.(id);
    },
    ...(options.gatherMs === undefined ? {} : { gatherMs: options.gatherMs }),
    log: { error: () => {} },
  });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  table = createTable();
  processed = [];
  worker = createWorker();
});
afterEach(async () => {
  const stopped = worker.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  await stopped;
  vi.useRealTimers();
});

it('asks when the first row is due, and claims nothing, while nothing is due', async () => {
  worker.start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(table.asked.filter((what) => what === 'claim')).toHaveLength(1);
  expect(table.asked.length).toBeLessThanOrEqual(1 + 60_000 / 4_000 + 1);
});

it('claims what becomes due at its time', async () => {
  worker.start();
  table.add('a', 3_000);
  await vi.advanceTimersByTimeAsync(100);
  await vi.advanceTimersByTimeAsync(2_500);
  expect(processed).toEqual([]);
  await vi.advanceTimersByTimeAsync(500);
  expect(processed).toEqual(['a']);
});

it('finds what was added without a notification, and much sooner what was added with one', async () => {
  worker.start();
  await vi.advanceTimersByTimeAsync(100);
  table.add('silent', 0);
  await vi.advanceTimersByTimeAsync(4_100);
  expect(processed).toEqual(['silent']);
  await vi.advanceTimersByTimeAsync(1_000);
  table.add('told', 0);
  table.changeSignal.notify();
  // The second row is processed within a second; 20 ms of it is the pause between two claims.
  await vi.waitFor(() => expect(processed).toEqual(['silent', 'told']));
});

it.each([
  ['until the steps before have ended', true],
  ['for no longer than it is told', false],
])('gathers what becomes due %s', async (_name, stepEnds) => {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  worker = createWorker({
    gatherMs: GATHER_MS,
    stepEnds: (id) => (id === 'slow' ? ended : Promise.resolve()),
  });
  table.add('slow', 0);
  worker.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(processed).toEqual(['slow']);
  table.add('next', 0);
  table.changeSignal.notify();
  await vi.advanceTimersByTimeAsync(GATHER_MS / 2);
  expect(processed).toEqual(['slow']);
  if (stepEnds) end();
  else await vi.advanceTimersByTimeAsync(GATHER_MS / 2);
  await vi.waitFor(() => expect(processed).toEqual(['slow', 'next']), { timeout: GATHER_MS / 4 });
  end();
});
