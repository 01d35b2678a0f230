/**
 * The small parts of the limits.
 */
import type { IncomingMessage } from 'node:http';
import { parse } from 'graphql';
import type { OperationDefinitionNode } from 'graphql';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { describeDocument, describeVariables } from '../../../src/http/graphql/describeOperation.ts';
import { createDocumentCache } from '../../../src/http/documents/documentCache.ts';
import { rootFields } from '../../../src/http/graphql/rootFields.ts';
import { addressKey, networkKey } from '../../../src/lib/addressKey.ts';
import { clientAddressOf } from '../../../src/limits/clientAddress.ts';
import { createCounters } from '../../../src/limits/counters.ts';
import { createRateLimits } from '../../../src/limits/rateLimits.ts';
import { createSharedBudget, type Usage } from '../../../src/limits/sharedBudget.ts';
import { TokenBucket } from '../../../src/limits/tokenBuckets.ts';
import { createConcurrencyLimit } from '../../../src/lib/concurrencyLimit.ts';
import { bytesKeptBy } from '../../support/heap.ts';

describe('an address is a client', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002:0:0:0:1', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['unknown', 'unknown'],
  ])('%s counts as %s', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });

  it.each([
    ['203.0.113.7', '203.0.0.0/16'],
    ['2001:db8:1:2::9', '2001:db8:1::/48'],
    ['unknown', null],
  ])('%s is in the network %s', (address, network) => {
    expect(networkKey(addressKey(address))).toBe(network);
  });

  it.each([
    [0, '9.9.9.9', '10.0.0.1'],
    [1, '9.9.9.9', '9.9.9.9'],
    [1, '1.1.1.1, 9.9.9.9', '9.9.9.9'],
    [2, '1.1.1.1, 9.9.9.9', '1.1.1.1'],
    [2, '9.9.9.9', '10.0.0.1'],
    [1, 'not an address', '10.0.0.1'],
    [1, '', '10.0.0.1'],
    [1, '2001:db8::1', '2001:db8::1'],
    [1, '9.9.9.9:4711', '9.9.9.9'],
    [1, '[2001:db8::1]:4711', '2001:db8::1'],
    [1, '[2001:db8::1]', '2001:db8::1'],
  ])('behind %i proxies that say %j it is %s', (hops, forwarded, address) => {
    const request = { headers: { 'x-forwarded-for': forwarded }, socket: { remoteAddress: '10.0.0.1' } };
    expect(clientAddressOf(request as unknown as IncomingMessage, hops)).toBe(address);
  });

  it('keeps nothing else of the header in memory, because the limits keep the address', async () => {
    const addressOf = (i: number) => {
      const header = `${'x'.repeat(15_000)}, 198.51.100.${100 + i}`;
      const request = { headers: { 'x-forwarded-for': header }, socket: { remoteAddress: '10.0.0.1' } };
      return clientAddressOf(request as unknown as IncomingMessage, 1);
    };
    const { bytes, result } = await bytesKeptBy(() => Array.from({ length: 150 }, (_, i) => addressOf(i)));
    expect(result.at(-1)).toBe('198.51.100.249');
    expect(bytes).toBeLessThan(500_000);
  });
});

describe('slots', () => {
  it('are given in the order of arrival, and refused beyond the queue', async () => {
    const slots = createConcurrencyLimit({ maxConcurrent: 1, maxWaiting: 2, waitMs: 60_000 });
    const order: string[] = [];
    const giveBack = await slots.take();
    const waiting = ['a', 'b'].map(async (name) => {
      const giveOnesBack = await slots.take();
      order.push(name);
      giveOnesBack();
    });
    await expect(slots.take()).rejects.toMatchObject({ code: 'OVERLOADED' });
    giveBack();
    // Giving back the same slot twice frees no second slot.
    giveBack();
    expect(slots.load()).toMatchObject({ waiting: 1 });
    await Promise.all(waiting);
    expect(order).toEqual(['a', 'b']);
    const last = await slots.take();
    const next = slots.take();
    last();
    (await next)();
  });

  it('go to callers with different keys in turn, and the longest queue makes room for a short one', async () => {
    const slots = createConcurrencyLimit({ maxConcurrent: 1, maxWaiting: 4, waitMs: 60_000 });
    const order: string[] = [];
    const giveBack = await slots.take('greedy');
    const queue = async (key: string, name: string) => {
      const giveOnesBack = await slots.take(key);
      order.push(name);
      giveOnesBack();
    };
    const greedy = [1, 2, 3, 4].map((i) => queue('greedy', `greedy ${i}`));
    const refused = expect(greedy[3]).rejects.toMatchObject({ code: 'OVERLOADED' });
    const modest = queue('modest', 'modest 1');
    await refused;
    await expect(slots.take('greedy')).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(slots.load()).toEqual({ waiting: 4, waited: 5, refused: 2 });
    giveBack();
    await Promise.all([...greedy.slice(0, 3), modest]);
    expect(order).toEqual(['greedy 1', 'modest 1', 'greedy 2', 'greedy 3']);
    expect(slots.load().waiting).toBe(0);
  });

  it('are left for others by a key that has its share', async () => {
    const slots = createConcurrencyLimit({ maxConcurrent: 4, maxPerKey: 2, maxWaiting: 4, waitMs: 60_000 });
    const [first] = [await slots.take('greedy'), await slots.take('greedy')];
    let third: (() => void) | undefined;
    const waiting = slots.take('greedy').then((giveBack) => (third = giveBack));
    const modest = await slots.take('modest');
    modest();
    await Promise.resolve();
    expect(third).toBeUndefined();
    expect(slots.load().waiting).toBe(1);
    first();
    await waiting;
    expect(third).toBeDefined();
    await slots.take('modest');
    await slots.take('other');
    expect(slots.takeFree('late')).toBeNull();
  });

  it('are not waited for longer than the deadline', async () => {
    const slots = createConcurrencyLimit({ maxConcurrent: 1, maxWaiting: 1, waitMs: 20 });
    const giveBack = await slots.take();
    await expect(slots.take()).rejects.toMatchObject({ details: { retryAfterSeconds: 1 } });
    giveBack();
    (await slots.take())();
  });

  it('refuse each that waits at its own deadline, whichever key it has, and none that was admitted', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const slots = createConcurrencyLimit({ maxConcurrent: 1, maxWaiting: 4, waitMs: 100 });
    const ends: [string, string, number][] = [];
    const startMs = performance.now();
    const take = (key: string, name: string) => {
      const ended = (how: string) => void ends.push([name, how, Math.round(performance.now() - startMs)]);
      void slots.take(key).then(
        () => ended('admitted'),
        () => ended('refused'),
      );
    };
    const giveBack = await slots.take('holder');
    take('greedy', 'greedy 1');
    await vi.advanceTimersByTimeAsync(10);
    take('greedy', 'greedy 2');
    await vi.advanceTimersByTimeAsync(10);
    take('greedy', 'greedy 3');
    await vi.advanceTimersByTimeAsync(60);
    take('modest', 'modest 1');
    // The slot goes to the caller that arrived last.
    giveBack();
    await vi.advanceTimersByTimeAsync(10);
    take('other', 'other 1');
    await vi.advanceTimersByTimeAsync(500);
    expect(ends).toEqual([
      ['greedy 1', 'admitted', 80],
      ['greedy 2', 'refused', 110],
      ['greedy 3', 'refused', 120],
      ['modest 1', 'refused', 180],
      ['other 1', 'refused', 190],
    ]);
    expect(slots.load()).toEqual({ waiting: 0, waited: 5, refused: 4 });
    // Another caller waits long after the last look.
    take('modest', 'modest 2');
    await vi.advanceTimersByTimeAsync(100);
    expect(ends.at(-1)).toEqual(['modest 2', 'refused', 690]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('have one timer, which keeps no program that has ended, though their time is not over', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => timers.mockRestore());
    const slots = createConcurrencyLimit({ maxConcurrent: 1, maxWaiting: 2, waitMs: 60_000 });
    const giveBack = await slots.take();
    const waiting = [slots.take(), slots.take()];
    giveBack();
    for (const next of waiting) (await next)();
    const lasting = timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef());
    expect(lasting).toEqual([false]);
  });
});

describe('counters', () => {
  it('count in all and for each key, and each end once', () => {
    const counters = createCounters(3, 2);
    const a1 = counters.open('a');
    const a2 = counters.open('a');
    expect(counters.open('a')).toBeNull();
    expect(counters.open('b')).not.toBeNull();
    expect(counters.open('c')).toBeNull();
    a1?.();
    a1?.();
    expect(counters.total).toBe(2);
    expect(counters.open('a')).not.toBeNull();
    expect(counters.open('a')).toBeNull();
    a2?.();
  });
});

const CALLER = { roles: [], warehouseIds: [], expiresAt: 0, apiKeyId: null, jti: null, issuedAt: null };

describe('a budget without other instances', () => {
  it('is spent, looked at, and overspent', async () => {
    const budget = createSharedBudget({ name: 'test', points: 3, windowSeconds: 60 }, null);
    expect(budget.peek('a')).toMatchObject({ remainingPoints: 3, isOverspent: false });
    expect(budget.spend('a', 2)).toMatchObject({ remainingPoints: 1, isOverspent: false });
    expect(budget.spend('a', 1)).toMatchObject({ remainingPoints: 0, isOverspent: false });
    expect(budget.spend('a', 1)).toMatchObject({ remainingPoints: 0, isOverspent: true });
    expect(budget.peek('b')).toMatchObject({ remainingPoints: 3 });
    await budget.share();
    expect(budget.peek('a')).toMatchObject({ remainingPoints: 0, isOverspent: true });
  });

  it('begins anew when its window has ended', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const budget = createSharedBudget({ name: 'test', points: 3, windowSeconds: 60 }, null);
      budget.spend('a', 4);
      vi.advanceTimersByTime(59_000);
      expect(budget.spend('a', 1)).toMatchObject({ isOverspent: true, resetSeconds: 1 });
      vi.advanceTimersByTime(1_000);
      expect(budget.peek('a')).toMatchObject({ remainingPoints: 3, isOverspent: false });
      expect(budget.spend('a', 1)).toMatchObject({ remainingPoints: 2, resetSeconds: 60 });
    } finally {
      vi.useRealTimers();
    }
  });

  it('is one for all those beyond the number of keys', async () => {
    const budget = createSharedBudget({ name: 'crowd', points: 5, windowSeconds: 60 }, null);
    for (let i = 0; i < 50_000; i++) budget.spend(`address ${i}`, 1);
    expect(budget.spend('address 7', 1)).toMatchObject({ remainingPoints: 3 });
    for (let i = 0; i < 5; i++) budget.spend(`late ${i}`, 1);
    expect(budget.spend('one more', 1)).toMatchObject({ isOverspent: true });
    expect(budget.peek('yet another')).toMatchObject({ remainingPoints: 0 });
  });

  it('is shared beyond the number of keys by the addresses of a network, not by all', async () => {
    const budget = createSharedBudget({ name: 'networks', points: 5, windowSeconds: 60 }, null, networkKey);
    const subnet = (i: number) => addressKey(`2001:db8:1:${i.toString(16)}::1`);
    for (let i = 0; i < 50_000; i++) budget.spend(subnet(i), 1);
    for (let i = 50_000; i < 50_006; i++) budget.spend(subnet(i), 1);
    expect(budget.spend(subnet(60_000), 1)).toMatchObject({ isOverspent: true });
    for (const other of ['2001:db8:2::1', '203.0.113.7', '198.51.100.7', 'unknown']) {
      expect(budget.spend(addressKey(other), 1)).toMatchObject({ remainingPoints: 4 });
    }
    expect(budget.peek(addressKey('203.0.99.9'))).toMatchObject({ remainingPoints: 4 });
  });

  it('keeps as many groups again, and is one for all those beyond them', () => {
    const budget = createSharedBudget({ name: 'groups', points: 5, windowSeconds: 60 }, null, (key) => key);
    for (let i = 0; i < 100_000; i++) budget.spend(`key ${i}`, 1);
    expect(budget.spend('late', 1)).toMatchObject({ remainingPoints: 4 });
    expect(budget.spend('later', 1)).toMatchObject({ remainingPoints: 3 });
    expect(budget.spend('key 99999', 1)).toMatchObject({ remainingPoints: 3 });
  });

  it('counts an address by the group that has its count already, also when there is no room for another', () => {
    const groupOf = (key: string) => key.replace(/^near .*/, 'near');
    const budget = createSharedBudget({ name: 'groups', points: 5, windowSeconds: 60 }, null, groupOf);
    for (let i = 0; i < 50_000; i++) budget.spend(`key ${i}`, 1);
    budget.spend('near 1', 3);
    for (let i = 50_000; i < 100_000; i++) budget.spend(`key ${i}`, 1);
    expect(budget.spend('near 2', 1)).toMatchObject({ remainingPoints: 1 });
    expect(budget.spend('far', 1)).toMatchObject({ remainingPoints: 3 });
  });

  it('forgets the keys whose window has ended, so that new ones have their own again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const budget = createSharedBudget({ name: 'crowd', points: 5, windowSeconds: 60 }, null);
    for (let i = 0; i < 50_000; i++) budget.spend(`address ${i}`, 1);
    vi.advanceTimersByTime(60_000);
    await budget.share();
    expect(budget.spend('late', 1)).toMatchObject({ remainingPoints: 4 });
    expect(budget.spend('later', 1)).toMatchObject({ remainingPoints: 4 });
  });

  it('of callers is not used up by strangers, however many addresses they have', async () => {
    const settings = {
      RATE_LIMIT_ADDRESS_PER_MINUTE: 2,
      RATE_LIMIT_CALLER_PER_MINUTE: 2,
      RATE_LIMIT_MUTATIONS_PER_MINUTE: 2,
      RATE_LIMIT_REFUSED_CREDENTIALS_PER_MINUTE: 2,
    };
    const limits = createRateLimits({ ...settings, MAX_CPU_PERCENT_PER_ADDRESS: 20 }, null, {
      warn: () => undefined,
    });
    for (let i = 0; i < 50_000; i++)
      await limits.admitMutations({ caller: null, remoteAddress: `2001:db8:1:${i.toString(16)}::1` }, 1, []);
    const usages: Usage[] = [];
    for (const subject of ['acme', 'globex', 'initech']) {
      const caller = { ...CALLER, subject };
      await limits.admitMutations({ caller, remoteAddress: '203.0.113.7' }, 1, usages);
    }
    expect(usages.map(({ remainingPoints }) => remainingPoints)).toEqual([1, 1, 1]);
    await limits.stop();
  });
});

describe('a budget that refills', () => {
  it('is owed no more than its capacity, so that one large charge does not shut a client out for long', () => {
    const bucket = new TokenBucket({ capacity: 10, perSecond: 2 }, () => 0);
    expect(bucket.take(1_000)).toBe(false);
    expect(bucket.waitSeconds()).toBe(5);
  });

  it('has what its rate gives since it was asked last, up to its capacity, and names the wait for the next point', () => {
    let nowMs = 0;
    const bucket = new TokenBucket({ capacity: 10, perSecond: 2 }, () => nowMs);
    expect(bucket.take(10)).toBe(true);
    expect(bucket.waitSeconds()).toBe(1);
    nowMs = 1_000;
    expect(bucket.take(3)).toBe(false);
    nowMs = 2_000;
    expect(bucket.waitSeconds()).toBe(0);
    expect([bucket.take(1), bucket.take(1)]).toEqual([true, false]);
    nowMs = 60_000;
    expect([bucket.take(10), bucket.take(1)]).toEqual([true, false]);
  });
});

describe('the cache of documents', () => {
  it('forgets what was not asked for longest, and never keeps large ones', () => {
    const cache = createDocumentCache<number>();
    const source = (i: number) => `${i}`.padEnd(10_000, ' ');
    for (let i = 0; i < 26; i++) cache.set(source(i), i);
    expect(cache.get(source(0))).toBe(0);
    cache.set(source(26), 26);
    expect([cache.get(source(0)), cache.get(source(1)), cache.get(source(26))]).toEqual([0, undefined, 26]);
    const large = 'x'.repeat(17_000);
    cache.set(large, 1);
    expect(cache.get(large)).toBeUndefined();
  });
});

describe('an operation for the log', () => {
  it('has no values of the document', () => {
    const document = parse(
      '{ a(x: "secret", y: 5, z: """block secret""") { b(list: ["one", 2.5], on: true) } }',
    );
    const text = describeDocument(document);
    expect(text).not.toMatch(/secret|one|5/);
    expect(text).toContain('on: true');
  });

  it('has no values of variables but those that may be shown', () => {
    const variables = {
      input: {
        payoutAccount: { accountNumber: '254700123456', provider: 'MTN' },
        tokenAddress: 'CABC',
        vintageYear: 2024,
        pin: 1234,
        deep: { deep: { deep: { deep: { deep: 'x' } } } },
        list: ['a', 'b'],
        flag: true,
        tooLong: 'x'.repeat(10_000),
      },
    };
    expect(describeVariables(variables, new Set(['tokenAddress', 'vintageYear', 'tooLong']))).toEqual({
      input: {
        payoutAccount: { accountNumber: '[text of 12]', provider: '[text of 3]' },
        tokenAddress: 'CABC',
        vintageYear: 2024,
        pin: '[number]',
        deep: { deep: { deep: '[object]' } },
        list: '[list of 2]',
        flag: true,
        tooLong: '[text of 10000]',
      },
    });
    expect(describeVariables({ "Jane's account": 1 }, new Set())).toEqual({ '[name]': '[number]' });
  });

  it('names its root fields, through fragments, and says which depend on a condition', () => {
    const document = parse(`query { a ...f ... on Query @skip(if: true) { c } b: a @include(if: false) }
      fragment f on Query { d ...f }`);
    const operation = document.definitions[0] as OperationDefinitionNode;
    expect(rootFields(document, operation)).toEqual([
      { name: 'a', isConditional: false },
      { name: 'd', isConditional: false },
      { name: 'c', isConditional: true },
      { name: 'a', isConditional: true },
    ]);
  });
});
