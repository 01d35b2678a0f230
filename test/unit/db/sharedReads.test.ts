import { setImmediate as turnsEnd } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Db } from '../../../src/db/connection.ts';
import { createSharedRead } from '../../../src/db/sharedReads.ts';

const db = {} as Db;

function open(rowOf: (key: string) => string | null = (key) => `row ${key}`) {
  const statements: string[][] = [];
  const read = createSharedRead<string, string>(async (_db, keys) => {
    statements.push([...keys]);
    return new Map(keys.flatMap((key) => (rowOf(key) === null ? [] : [[key, rowOf(key) ?? '']])));
  });
  return { read, statements };
}

describe('shared reads', () => {
  it('reads in one statement what one turn asks for, and answers each', async () => {
    const { read, statements } = open((key) => (key === 'none' ? null : `row ${key}`));
    const answers = await Promise.all([read(db, 'a'), read(db, 'none'), read(db, 'a'), read(db, 'b')]);
    expect(answers).toEqual(['row a', null, 'row a', 'row b']);
    expect(statements).toEqual([['a', 'none', 'b']]);
  });

  it('shares between requests that came in different callbacks of a turn', async () => {
    const { read, statements } = open();
    const first = read(db, 'a');
    await Promise.resolve();
    const second = new Promise((resolve) => process.nextTick(() => resolve(read(db, 'b'))));
    expect(await Promise.all([first, second])).toEqual(['row a', 'row b']);
    expect(statements).toHaveLength(1);
  });

  it('asks for no more than 64 in a statement', async () => {
    const { read, statements } = open();
    await Promise.all(Array.from({ length: 130 }, (_, i) => read(db, String(i))));
    expect(statements.map(({ length }) => length)).toEqual([64, 64, 2]);
  });

  it('reads again what is asked for later, also while a statement is under way', async () => {
    let version = 0;
    const answers: (() => void)[] = [];
    const read = createSharedRead<string, number>(async (_db, keys) => {
      const seen = ++version;
      await new Promise<void>((resolve) => answers.push(resolve));
      return new Map(keys.map((key) => [key, seen]));
    });
    const first = read(db, 'a');
    await turnsEnd();
    const second = read(db, 'a');
    await turnsEnd();
    for (const answer of answers) answer();
    expect(await Promise.all([first, second])).toEqual([1, 2]);
  });

  it('fails for those alone whose statement fails', async () => {
    let fails = true;
    const read = createSharedRead<string, string>(async (_db, keys) => {
      if (fails) throw new Error('the connection is lost');
      return new Map(keys.map((key) => [key, key]));
    });
    const settled = await Promise.allSettled([read(db, 'a'), read(db, 'b')]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fails = false;
    expect(await read(db, 'a')).toBe('a');
  });

  it('never mixes databases', async () => {
    const asked: unknown[] = [];
    const read = createSharedRead<string, string>(async (of) => {
      asked.push(of);
      return new Map();
    });
    const other = {} as Db;
    await Promise.all([read(db, 'a'), read(other, 'a')]);
    expect(new Set(asked)).toEqual(new Set([db, other]));
    expect(asked).toHaveLength(2);
  });
});
