/**
 * Batches across requests: which postings share a batch, and what happens when a batch fails.
 */
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { NoFreeConnection } from '../../../../src/db/connectionLost.ts';
import { createPostingBatcher, MAX_POSTINGS_PER_BATCH } from '../../../../src/ledger/books/batcher.ts';

/** Commits the postings that `fail` does not refuse; `tried` holds the attempted batches. */
function batcherWith(fail: (items: readonly string[], attempt: number) => Error | null = () => null) {
  const tried: string[][] = [];
  const committed: string[] = [];
  const batcher = createPostingBatcher<string, string>(
    async (items) => {
      tried.push([...items]);
      await Promise.resolve();
      const error = fail(items, tried.length);
      if (error) throw error;
      committed.push(...items);
      return items.map((item) => `done ${item}`);
    },
    (item) => item.split('/')[0] ?? '',
  );
  return { batcher, tried, committed };
}

function refusal(code: string): Error {
  return Object.assign(new postgres.PostgresError(`refused: ${code}` as never), { code, severity: 'ERROR' });
}

const outcomes = async (answers: Promise<string>[]) =>
  (await Promise.allSettled(answers)).map((one) => (one.status === 'fulfilled' ? one.value : 'rejected'));

describe('a batch', () => {
  it('is what arrived while the one before was committed, and answers each item', async () => {
    const { batcher, tried } = batcherWith();
    const first = ['a', 'b'].map((item) => batcher.submit(item));
    expect(await Promise.all(first)).toEqual(['done a', 'done b']);
    expect(await Promise.all(['c', 'd', 'e'].map((item) => batcher.submit(item)))).toEqual([
      'done c',
      'done d',
      'done e',
    ]);
    expect(tried).toEqual([
      ['a', 'b'],
      ['c', 'd', 'e'],
    ]);
  });

  it('holds one item of each key, and the next of that key comes in the next one', async () => {
    const { batcher, tried } = batcherWith();
    await Promise.all(['a/1', 'a/2', 'b/1', 'a/3'].map((item) => batcher.submit(item)));
    expect(tried).toEqual([['a/1', 'b/1'], ['a/2'], ['a/3']]);
  });

  it('is bounded, and so is what waits for it', async () => {
    const { batcher, tried } = batcherWith();
    const answers = Array.from({ length: 10_050 }, (_, i) => batcher.submit(`item ${i}`));
    const done = await outcomes(answers);
    expect(done.filter((outcome) => outcome === 'rejected')).toHaveLength(50);
    await expect(answers.at(-1)).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(Math.max(...tried.map((batch) => batch.length))).toBe(MAX_POSTINGS_PER_BATCH);
  });
});

describe('a batch that fails', () => {
  it('because of one item is halved until that item stands alone', async () => {
    const { batcher, committed } = batcherWith((items) => (items.includes('bad') ? refusal('23505') : null));
    const items = ['a', 'b', 'bad', 'c', 'd', 'e', 'f'];
    const done = await outcomes(items.map((item) => batcher.submit(item)));
    expect(done).toEqual(items.map((item) => (item === 'bad' ? 'rejected' : `done ${item}`)));
    expect(committed.toSorted()).toEqual(items.filter((item) => item !== 'bad').toSorted());
  });

  it.each([
    ['without an answer', new Error('read ECONNRESET')],
    ['by a deadlock', refusal('40P01')],
    ['by a key that another instance reserved meanwhile', refusal('23505')],
  ])('%s is sent again as it was', async (_name, error) => {
    const { batcher, tried } = batcherWith((_items, attempt) => (attempt === 1 ? error : null));
    expect(await outcomes(['a', 'b'].map((item) => batcher.submit(item)))).toEqual(['done a', 'done b']);
    expect(tried).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
  });

  it.each([
    ['finds no connection', new NoFreeConnection('none in time')],
    ['finds a database that has become read-only', refusal('25006')],
    ['waits for too long', refusal('57014')],
  ])(
    'without an answer, and then %s, is answered as one that may have taken effect',
    async (_name, again) => {
      const { batcher, tried } = batcherWith((_items, attempt) =>
        attempt === 1 ? new Error('read ECONNRESET') : again,
      );
      const answers = await Promise.allSettled(['a', 'b'].map((item) => batcher.submit(item)));
      expect(
        answers.map((one) => (one.status === 'rejected' ? (one.reason as Error).message : null)),
      ).toEqual(Array(2).fill('read ECONNRESET'));
      expect(tried).toEqual([
        ['a', 'b'],
        ['a', 'b'],
      ]);
    },
  );

  it.each([
    ['without an answer twice', new Error('read ECONNRESET'), 2],
    ['because its accounts stay locked', refusal('57014'), 1],
    ['because no connection is free', new NoFreeConnection('none in time'), 1],
  ])('%s is given up as a whole', async (_name, error, attempts) => {
    const { batcher, tried } = batcherWith(() => error);
    expect(await outcomes(['a', 'b', 'c'].map((item) => batcher.submit(item)))).toEqual(
      Array(3).fill('rejected'),
    );
    expect(tried).toHaveLength(attempts);
    // The failure does not stop the next posting.
    expect(await outcomes([batcher.submit('d')])).toEqual(['rejected']);
    expect(tried.at(-1)).toEqual(['d']);
  });
});
