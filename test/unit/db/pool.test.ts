/**
 * What the pool says about its connections.
 */
import { expect, it, onTestFinished } from 'vitest';
import type { Client } from '../../../src/db/client.ts';
import { createPool } from '../../../src/db/pool.ts';
import type { Primary } from '../../../src/db/primary.ts';

it('counts no connection as idle that the server has closed since it was last used', async () => {
  const lost = new Set<Client>();
  const connect = async () => {
    const client: Client = {
      ask: () => Promise.reject(new Error('no statement is sent')),
      isLost: () => lost.has(client),
      isSilent: () => false,
      openedAt: performance.now(),
      answeredAt: () => performance.now(),
      untilLost: () => Promise.reject(new Error('nothing waits for it')),
      lose: () => undefined,
      end: async () => undefined,
    };
    return client;
  };
  const primary = { connect, isOutdated: () => false, suspect: () => undefined } satisfies Primary;
  const pool = createPool({ primary, client: {}, size: 4, answerTimeoutMs: 1_000 });
  onTestFinished(() => pool.close());
  const used: Client[] = [];
  await Promise.all([1, 2].map(() => pool.lend(async (client) => void used.push(client))));
  expect(pool.load()).toMatchObject({ lent: 0, idle: 2 });
  for (const client of used.slice(1)) lost.add(client);
  expect(pool.load()).toMatchObject({ lent: 0, idle: 1 });
});
