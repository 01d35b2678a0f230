/**
 * Notifications that instances get of each other's changes, and of their own.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openChangeSignal, type ChangeSignal } from '../../../src/db/changeSignal.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;
let signals: ChangeSignal[];
beforeAll(async () => {
  database = await createTestDatabase();
  const onError = (error: unknown) => expect.unreachable(String(error));
  signals = await Promise.all(
    ['one', 'other'].map((senderId) => openChangeSignal(database.handle, 'states', { senderId, onError })),
  );
});
afterAll(async () => {
  for (const signal of signals) await signal.close();
  await database.drop();
});

it('notifies each instance once, the one that notifies included', async () => {
  const [one, other] = signals;
  const heard = { one: [] as (string | null)[], other: [] as (string | null)[] };
  one?.onNotify((key) => heard.one.push(key));
  other?.onNotify((key) => heard.other.push(key));
  one?.notify('a');
  one?.notify('b');
  expect(heard).toEqual({ one: ['a', 'b'], other: [] });
  await vi.waitFor(() => expect(heard.other).toEqual(['a', 'b']), 10_000);
  other?.notify('c');
  // One channel keeps its order, so earlier notifications of `one` would have come before.
  await vi.waitFor(() => expect(heard.one).toContain('c'), 10_000);
  await delay(0);
  expect(heard).toEqual({ one: ['a', 'b', 'c'], other: ['a', 'b', 'c'] });
});
