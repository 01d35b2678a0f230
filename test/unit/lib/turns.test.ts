import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTurns } from '../../../src/lib/turns.ts';

it('begin so many in each turn of the event loop, of each key in its turn', async () => {
  const awaitTurn = createTurns({ perTurn: 2, maxWaiting: 10, waitMs: 10_000 });
  const begun: string[] = [];
  const ask = (key: string, name: string) => Promise.resolve(awaitTurn(key)).then(() => begun.push(name));
  const all = [ask('a', 'a1'), ask('a', 'a2'), ask('a', 'a3'), ask('a', 'a4'), ask('b', 'b1')];
  await new Promise(process.nextTick);
  expect(begun).toEqual(['a1', 'a2']);
  await nextTurn();
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1']);
  await Promise.all(all);
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'a4']);
});
