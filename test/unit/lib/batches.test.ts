/** Batches: waiting items share the next batch, and one bad item fails alone. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { createBatcher } from '../../../src/lib/batches.ts';

const limits = { maxItems: 4, maxWaiting: 6 };

it('what arrives together shares a batch, up to the limit, and each item gets its own result', async () => {
  const batches: number[][] = [];
  const batcher = createBatcher<number, number>({
    ...limits,
    run: async (items) => {
      batches.push(items);
      return items.map((item) => item * 10);
    },
  });
  const results = await Promise.all([1, 2, 3, 4, 5].map((item) => batcher.submit(item)));
  expect(results).toEqual([10, 20, 30, 40, 50]);
  expect(batches).toEqual([[1, 2, 3, 4], [5]]);
});

it('what arrives during a batch goes into the next one, and what is too much is refused', async () => {
  const batches: number[][] = [];
  let end: () => void = () => {};
  const batcher = createBatcher<number, number>({
    ...limits,
    run: async (items) => {
      batches.push(items);
      if (batches.length === 1) await new Promise<void>((resolve) => (end = resolve));
      return items;
    },
  });
  const first = batcher.submit(0);
  await expect.poll(() => batches.length).toBe(1);
  const later = [1, 2, 3, 4, 5, 6].map((item) => batcher.submit(item));
  await expect(batcher.submit(7)).rejects.toThrow('6 items wait already');
  end();
  expect(await Promise.all([first, ...later])).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(batches).toEqual([[0], [1, 2, 3, 4], [5, 6]]);
});

it('takes a burst in two halves, and begins the second before it gives the results of the first', async () => {
  const seen: string[] = [];
  const batcher = createBatcher<number, number>({
    ...limits,
    halvesFrom: 4,
    run: async (items) => {
      seen.push(`run ${items.join(' ')}`);
      return items;
    },
  });
  const submit = async (item: number) => seen.push(`got ${await batcher.submit(item)}`);
  await Promise.all([1, 2, 3, 4].map(submit));
  expect(seen.slice(0, 2)).toEqual(['run 1 2', 'run 3 4']);
  expect(seen.slice(2).toSorted((a, b) => a.localeCompare(b))).toEqual(['got 1', 'got 2', 'got 3', 'got 4']);
  seen.length = 0;
  await Promise.all([5, 6, 7].map(submit));
  expect(seen[0]).toBe('run 5 6 7');
});

it('takes a burst in two halves that comes while a smaller batch is under way', async () => {
  const batches: number[][] = [];
  let end: () => void = () => {};
  const batcher = createBatcher<number, number>({
    ...limits,
    halvesFrom: 4,
    run: async (items) => {
      batches.push(items);
      if (batches.length === 1) await new Promise<void>((resolve) => (end = resolve));
      return items;
    },
  });
  const first = batcher.submit(0);
  await expect.poll(() => batches.length).toBe(1);
  const burst = [1, 2, 3, 4, 5].map((item) => batcher.submit(item));
  end();
  expect(await Promise.all([first, ...burst])).toEqual([0, 1, 2, 3, 4, 5]);
  expect(batches).toEqual([[0], [1, 2, 3], [4, 5]]);
});

it('takes no half that is larger than a batch may be', async () => {
  const sizes: number[] = [];
  const batcher = createBatcher<number, number>({
    ...limits,
    maxItems: 2,
    halvesFrom: 4,
    run: async (items) => {
      sizes.push(items.length);
      return items;
    },
  });
  await Promise.all([1, 2, 3, 4, 5, 6].map((item) => batcher.submit(item)));
  expect(sizes).toEqual([2, 2, 2]);
});

it('rejects a batch whose results are fewer than its items, since one of these would wait for ever', async () => {
  const batcher = createBatcher<number, number>({ ...limits, run: async () => [1] });
  const settled = await Promise.allSettled([1, 2].map((item) => batcher.submit(item)));
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

it('divides a batch until the item that breaks it stands alone', async () => {
  const done: number[] = [];
  const batcher = createBatcher<number, number>({
    ...limits,
    run: async (items) => {
      if (items.includes(3)) throw new Error('three');
      done.push(...items);
      return items;
    },
    dividesOn: () => true,
  });
  const settled = await Promise.allSettled([1, 2, 3, 4].map((item) => batcher.submit(item)));
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  expect(done).toEqual([1, 2, 4]);
});

it('does not divide on what is the matter of all', async () => {
  let runs = 0;
  const batcher = createBatcher<number, number>({
    ...limits,
    run: async () => {
      runs += 1;
      throw new Error('no connection');
    },
    dividesOn: () => false,
  });
  const settled = await Promise.allSettled([1, 2].map((item) => batcher.submit(item)));
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(runs).toBe(1);
});

it('items of one key never share a batch, and keep their order', async () => {
  const batches: string[][] = [];
  const batcher = createBatcher<string, string>({
    ...limits,
    keyOf: (item) => item.slice(0, 1),
    run: async (items) => {
      batches.push(items);
      return items;
    },
  });
  await Promise.all(['a1', 'a2', 'b1', 'a3', 'b2'].map((item) => batcher.submit(item)));
  expect(batches).toEqual([['a1', 'b1'], ['a2', 'b2'], ['a3']]);
});

it('what has waited too long is rejected, and a batch without items is never run', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const batches: number[][] = [];
  let end: () => void = () => {};
  const batcher = createBatcher<number, number>({
    ...limits,
    maxWaitMs: 1_000,
    overloaded: (count) => new Error(`overloaded by ${count}`),
    run: async (items) => {
      batches.push(items);
      if (batches.length === 1) await new Promise<void>((resolve) => (end = resolve));
      return items;
    },
  });
  const first = batcher.submit(0);
  await expect.poll(() => batches.length).toBe(1);
  const late = Promise.allSettled([1, 2].map((item) => batcher.submit(item)));
  vi.advanceTimersByTime(1_001);
  end();
  expect(await first).toBe(0);
  const reason = new Error('overloaded by 2');
  expect(await late).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ]);
  expect(batches).toEqual([[0]]);
});
