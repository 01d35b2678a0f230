import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Db } from '../../../../src/db/connection.ts';
import {
  createChangeFollower,
  type ChangeFollower,
  type FollowedKind,
} from '../../../../src/resolvers/core/changeFollower.ts';
import { silentLog } from '../../../../devnet/platform.ts';

interface Thing {
  id: string;
  state: string;
  dueAt: number;
}

let table: Map<string, Thing>;
let reads: (readonly string[])[];
let failing: boolean;
let notify: (key: string | null) => void;
let follower: ChangeFollower;

const kind: FollowedKind<Thing> = {
  findMany: async (_deps, ids) => {
    reads.push(ids);
    if (failing) throw new Error('the database is away');
    return new Map(ids.flatMap((id) => table.get(id) ?? []).map((thing) => [thing.id, { ...thing }]));
  },
  hasEnded: ({ state }) => state === 'END',
  hidden: ['dueAt'],
};

beforeEach(() => {
  vi.useFakeTimers();
  table = new Map([['a', { id: 'a', state: 'ONE', dueAt: 1 }]]);
  reads = [];
  failing = false;
  follower = createChangeFollower({
    db: {} as Db,
    stateSignal: {
      onNotify(listener) {
        notify = listener;
        return () => undefined;
      },
    },
    log: silentLog,
  });
  follower.start();
});
afterEach(() => {
  follower.close();
  vi.useRealTimers();
});

const read = (id = 'a'): Thing => ({ ...(table.get(id) ?? { id, state: 'MISSING', dueAt: 0 }) });
const set = (state: string, id = 'a') => table.set(id, { id, state, dueAt: Math.random() });

function follow(first = read(), signal = new AbortController().signal) {
  const stream = follower.follow(kind, first, signal);
  return { stream, next: async () => (await stream.next()).value?.state };
}

/** Waits until nothing more happens without a new notification or the passing of time. */
const quiet = () => vi.advanceTimersByTimeAsync(0);

describe('following a row', () => {
  it('begins with the row as it is, and ends in a final state', async () => {
    const { next, stream } = follow();
    expect(await next()).toBe('ONE');
    const changed = next();
    await quiet();
    set('TWO');
    notify('a');
    expect(await changed).toBe('TWO');
    set('END');
    notify('a');
    expect(await next()).toBe('END');
    expect(await stream.next()).toEqual({ value: undefined, done: true });
    notify('a');
    await quiet();
    expect(reads).toHaveLength(3);
  });

  it('says once what is final already', async () => {
    set('END');
    const { next, stream } = follow();
    expect(await next()).toBe('END');
    expect((await stream.next()).done).toBe(true);
    expect(reads).toEqual([]);
  });

  it('misses no change between the read of its caller and its own start', async () => {
    const first = read();
    set('TWO');
    const { next } = follow(first);
    expect([await next(), await next()]).toEqual(['ONE', 'TWO']);
  });

  it('goes back to nothing older, when another one follows already', async () => {
    const earlier = follow();
    await earlier.next();
    void earlier.next();
    await quiet();
    set('TWO');
    const later = follow();
    expect(await later.next()).toBe('TWO');
    let wentOn = false;
    void later.next().then(() => (wentOn = true));
    await quiet();
    expect(wentOn).toBe(false);
  });

  it('reads once for all who follow, and not for changes that are not shown', async () => {
    const followers = Array.from({ length: 1000 }, () => follow());
    await Promise.all(followers.map(({ next }) => next()));
    const pending = Promise.all(followers.map(({ next }) => next()));
    await quiet();
    reads = [];
    table.set('a', { ...read(), dueAt: 99 });
    notify('a');
    await quiet();
    expect(reads).toEqual([['a']]);
    set('TWO');
    notify('a');
    expect(new Set(await pending)).toEqual(new Set(['TWO']));
    expect(reads).toEqual([['a'], ['a']]);
  });

  it('reads different rows together', async () => {
    for (const id of ['b', 'c']) set('ONE', id);
    const pending = ['a', 'b', 'c'].map(async (id) => {
      const { next } = follow(read(id));
      await next();
      return next();
    });
    await quiet();
    reads = [];
    for (const id of ['a', 'b', 'c']) set('TWO', id);
    notify(null);
    expect(await Promise.all(pending)).toEqual(['TWO', 'TWO', 'TWO']);
    expect(reads).toEqual([['a', 'b', 'c']]);
  });

  it('gives one that does not read the newest, not all of them', async () => {
    const { next } = follow();
    await next();
    const second = next();
    await quiet();
    set('TWO');
    notify('a');
    expect(await second).toBe('TWO');
    for (const state of ['THREE', 'FOUR', 'FIVE']) {
      set(state);
      notify('a');
      await quiet();
    }
    expect(await next()).toBe('FIVE');
  });

  it.each([
    ['a notification was lost', () => set('TWO')],
    [
      'a read failed',
      async () => {
        failing = true;
        set('TWO');
        notify('a');
        await quiet();
        failing = false;
      },
    ],
  ])('finds a change soon after %s', async (_what, change) => {
    const { next } = follow();
    await next();
    const changed = next();
    await quiet();
    await change();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await changed).toBe('TWO');
  });

  it('ends with its reader, and with the server', async () => {
    const ending = new AbortController();
    const one = follow(read(), ending.signal);
    const two = follow();
    await Promise.all([one.next(), two.next()]);
    const ends = [one.stream.next(), two.stream.next()];
    ending.abort();
    expect(await ends[0]).toEqual({ value: undefined, done: true });
    follower.close();
    expect(await ends[1]).toEqual({ value: undefined, done: true });
    await quiet();
    reads = [];
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reads).toEqual([]);
  });
});
