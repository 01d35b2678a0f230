import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTurns } from '../../../src/lib/turns.ts';

it('begin so many in each turn of the event loop, of each key in its turn', async () => {
  const awaitTurn = createTurns({ perTurn: 2, maxWaiting: 10, waitMs: 10_000, nowMs: () => 0 });
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

it('begin one by one after a long turn, so that what takes long is not begun several times at once', async () => {
  let nowMs = 0;
  const awaitTurn = createTurns({ perTurn: 4, maxWaiting: 10, waitMs: 10_000, nowMs: () => nowMs });
  const begun: string[] = [];
  const ask = async (key: string, name: string) => {
    await awaitTurn(key);
    begun.push(name);
    if (key === 'heavy') nowMs += 12;
  };
  const first = ask('heavy', 'h1');
  await new Promise(process.nextTick);
  const others = [ask('heavy', 'h2'), ask('heavy', 'h3'), ask('light', 'l1')];
  await nextTurn();
  expect(begun).toEqual(['h1', 'h2']);
  await nextTurn();
  expect(begun).toEqual(['h1', 'h2', 'l1']);
  await Promise.all([first, ...others]);
  expect(begun).toEqual(['h1', 'h2', 'l1', 'h3']);
});
