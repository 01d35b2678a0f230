/** All reads that the fields of a list request in one moment become one statement. */
import { expect, it } from 'vitest';
import { createBatch } from '../../../../src/schema/core/batch.ts';

it('reads each key once for all who ask in the same moment, and anew for those who ask later', async () => {
  const loads: string[][] = [];
  let answer = 1;
  const read = createBatch(async (_dependencies: object, keys: readonly string[]) => {
    loads.push([...keys]);
    return new Map(keys.filter((key) => key !== 'missing').map((key) => [key, answer]));
  });
  const context = { dependencies: {} };
  const asked = ['a', 'b', 'a', 'missing'].map((key) => read(context, key));
  expect(await Promise.all(asked)).toEqual([1, 1, 1, undefined]);
  answer = 2;
  expect(await read(context, 'a')).toBe(2);
  await Promise.all([read(context, 'b'), read({ dependencies: {} }, 'b')]);
  expect(loads).toEqual([['a', 'b', 'missing'], ['a'], ['b'], ['b']]);
});
