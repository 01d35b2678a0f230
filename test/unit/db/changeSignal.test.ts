import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openChangeSignal } from '../../../src/db/changeSignal.ts';
import type { DatabaseHandle } from '../../../src/db/connection.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A database whose notifications wait until the test lets them through. */
async function openOnSlowDatabase() {
  const sent: string[] = [];
  let letThrough = () => {};
  const isThrough = new Promise<void>((resolve) => (letThrough = resolve));
  const handle = {
    sql: async (_: TemplateStringsArray, _channel: string, payload: string) => {
      sent.push(payload);
      await isThrough;
    },
    listen: async () => async () => {},
  } as unknown as Pick<DatabaseHandle, 'sql' | 'listen'>;
  const signal = await openChangeSignal(handle, 'states', { senderId: 'me', onError: () => {} });
  return { signal, sent, letThrough };
}

it('sends together what comes while the database takes its time over a notification', async () => {
  const { signal, sent, letThrough } = await openOnSlowDatabase();
  for (let window = 0; window < 100; window++) {
    signal.notify(`key ${window}`);
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(sent).toEqual(['me,key 0']);
  letThrough();
  await signal.close();
  const rest = Array.from({ length: 99 }, (_, i) => `key ${i + 1}`);
  expect(sent.slice(1)).toEqual([['me', ...rest].join(',')]);
});

it('goes on sending after a window of which the keys were sent before its end', async () => {
  const { signal, sent, letThrough } = await openOnSlowDatabase();
  signal.notify('first');
  await vi.advanceTimersByTimeAsync(10);
  signal.notify('second');
  letThrough();
  await vi.advanceTimersByTimeAsync(10);
  signal.notify('third');
  await vi.advanceTimersByTimeAsync(10);
  expect(sent).toEqual(['me,first', 'me,second', 'me,third']);
  await signal.close();
});

it('names no keys where they are too many, and keeps none of them meanwhile', async () => {
  const { signal, sent, letThrough } = await openOnSlowDatabase();
  signal.notify('first');
  await vi.advanceTimersByTimeAsync(10);
  for (let i = 0; i < 5_000; i++) signal.notify(`key ${i}`);
  letThrough();
  await signal.close();
  expect(sent).toEqual(['me,first', 'me,*']);
});
