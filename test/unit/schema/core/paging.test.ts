/**
 * Pages of lists: their sizes, and when a list is counted.
 */
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { KeysetPage } from '../../../../src/db/keyset.ts';
import { cursorValues, pageOf, valueCursors } from '../../../../src/schema/core/paging.ts';

const cursors = valueCursors('numbers', z.string().transform(Number));

/** The numbers 0 to 49, with the pages that were asked for. */
function numbers() {
  const asked: KeysetPage<number>[] = [];
  let counts = 0;
  const source = {
    list: async (page: KeysetPage<number>) => {
      asked.push(page);
      const all = Array.from({ length: 50 }, (_, index) => index).filter(
        (index) => index > (page.after ?? -1) && index < (page.before ?? 50),
      );
      return (page.inverted ? all.toReversed() : all).slice(0, page.limit);
    },
    cursorOf: (index: number) => index,
    count: async () => {
      counts += 1;
      return 50;
    },
  };
  return { source, asked, counts: () => counts };
}

describe('a page', () => {
  it.each([
    ['without a size', {}, 20],
    ['with sizes of null', { first: null, last: null }, 20],
    ['with a size', { first: 7 }, 7],
    ['from the end', { last: 7 }, 7],
  ])('%s has as many items as the contract says', async (_what, args, size) => {
    const { source, asked } = numbers();
    const { edges } = await pageOf(args, cursors, source);
    expect(edges).toHaveLength(size);
    // The extra item shows whether there is another page.
    expect(asked).toMatchObject([{ limit: size + 1 }]);
  });

  it.each([{ first: 0 }, { first: 101 }, { last: 0 }, { last: 101 }, { first: 1, last: 1 }])(
    'is not of the size %j',
    async (args) => {
      const { source, asked } = numbers();
      await expect(pageOf(args, cursors, source)).rejects.toMatchObject({ code: 'BAD_USER_INPUT' });
      expect(asked).toEqual([]);
    },
  );

  it('without items goes on where it was asked for, and from the start where that was nowhere', async () => {
    const { source } = numbers();
    const empty = await pageOf({}, cursors, { ...source, list: async () => [] });
    expect(empty.pageInfo).toMatchObject({ startCursor: null, endCursor: null });
    const { pageInfo } = await pageOf({ first: 100 }, cursors, source);
    const beyond = await pageOf({ after: pageInfo.endCursor ?? null }, cursors, source);
    expect(beyond.edges).toEqual([]);
    expect(beyond.pageInfo).toMatchObject({ startCursor: null, endCursor: pageInfo.endCursor });
    const before = await pageOf({ last: 2, before: pageInfo.startCursor ?? null }, cursors, source);
    expect(before.edges).toEqual([]);
    expect(before.pageInfo).toMatchObject({ startCursor: pageInfo.startCursor, endCursor: null });
  });

  it('counts its list only when the count is asked for', async () => {
    const { source, counts } = numbers();
    const page = await pageOf({}, cursors, source);
    expect(counts()).toBe(0);
    await expect(page.count()).resolves.toBe(50);
  });
});

describe('a moment in a cursor', () => {
  const isMoment = (text: string) => cursorValues.moment.safeParse(text).success;

  it('is one that the database can read', () => {
    expect(isMoment('2026-07-01T12:00:00.123Z')).toBe(true);
    expect(isMoment('2026-07-01T12:00:00.123456Z')).toBe(true);
    expect(isMoment('0000-07-01T12:00:00.123Z')).toBe(false);
    expect(isMoment(`2026-07-01T12:00:00.${'1'.repeat(200)}Z`)).toBe(false);
  });
});
