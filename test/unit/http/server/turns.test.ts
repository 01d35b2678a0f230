import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createTurns } from '../../../../src/http/server/turns.ts';

it('begin so many at the end of each turn of the event loop, of each key in its turn', async () => {
  const awaitTurn = createTurns({ perTurn: 2, maxWaiting: 10, waitMs: 10_000, nowMs: () => 0 });
  const begun: string[] = [];
  const ask = (key: string, name: string) => awaitTurn(key).then(() => begun.push(name));
  const all = [ask('a', 'a1'), ask('a', 'a2'), ask('a', 'a3'), ask('a', 'a4'), ask('b', 'b1')];
  await new Promise(process.nextTick);
  expect(begun).toEqual([]);
  await nextTurn();
  expect(begun).toEqual(['a1', 'b1']);
  await nextTurn();
  expect(begun).toEqual(['a1', 'b1', 'a2', 'a3']);
  await Promise.all(all);
  expect(begun).toEqual(['a1', 'b1', 'a2', 'a3', 'a4']);
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
  await nextTurn();
  expect(begun).toEqual(['h1']);
  const others = [ask('heavy', 'h2'), ask('heavy', 'h3'), ask('light', 'l1')];
  await nextTurn();
  expect(begun).toEqual(['h1', 'h2']);
  await nextTurn();
  expect(begun).toEqual(['h1', 'h2', 'l1']);
  await Promise.all([first, ...others]);
  expect(begun).toEqual(['h1', 'h2', 'l1', 'h3']);
});

it('refuse what waits beyond their room, of the key with the most, and what has waited for too long', async () => {
  let nowMs = 0;
  const awaitTurn = createTurns({ perTurn: 1, maxWaiting: 3, waitMs: 100, nowMs: () => nowMs });
  const answers: string[] = [];
  const ask = (key: string, name: string) =>
    awaitTurn(key).then(
      () => answers.push(`${name} begins`),
      (error: { code: string }) => answers.push(`${name} ${error.code}`),
    );
  const all = [ask('a', 'a1'), ask('a', 'a2'), ask('a', 'a3'), ask('b', 'b1'), ask('a', 'a4')];
  // It would have as many as the one with the most.
  all.push(ask('b', 'b2'));
  await new Promise(process.nextTick);
  expect(answers).toEqual(['a3 OVERLOADED', 'a4 OVERLOADED', 'b2 OVERLOADED']);
  await nextTurn();
  nowMs = 101;
  all.push(ask('c', 'c1'));
  await nextTurn();
  // All four answers come in one turn: a refused caller takes no place in it.
  expect(answers.slice(3)).toEqual(['a1 begins', 'b1 OVERLOADED', 'a2 OVERLOADED', 'c1 begins']);
  await Promise.all(all);
});

it('take no turn of the event loop while nothing waits', async () => {
  const immediates = vi.spyOn(globalThis, 'setImmediate');
  onTestFinished(() => immediates.mockRestore());
  const awaitTurn = createTurns({ perTurn: 2, maxWaiting: 10, waitMs: 10_000 });
  const begun = awaitTurn('a');
  // Others in this process take turns too.
  const [[takeTurn] = []] = immediates.mock.calls;
  const countTurns = () => immediates.mock.calls.filter(([callback]) => callback === takeTurn).length;
  await begun;
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  const taken = countTurns();
  expect(taken).toBeGreaterThan(0);
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  expect(countTurns()).toBe(taken);
  await awaitTurn('a');
});
