/**
 * Readiness answers within its limit, even when all checks hang in turn, and runs each check once at a time.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { createReadiness } from '../../../src/http/server/readiness.ts';

type Deps = Parameters<typeof createReadiness>[0];

const LIMIT_MS = 3_000;
const hangs = () => new Promise<never>(() => {});

it('answers within three seconds when network and database fall silent one after the other', async () => {
  let asked = 0;
  const halt = {
    select: () => ({
      from: () => ({
        where: () => {
          asked += 1;
          return hangs();
        },
      }),
    }),
  };
  const db = { transaction: async () => {}, ...halt } as unknown as Deps['db'];
  const network: Deps['network'] = {
    signingOrder: { accounts: ['custody'], maxOpenPerAccount: 1 },
    status: hangs,
    continuity: hangs,
    nextSequences: hangs,
  };
  const isReady = createReadiness({
    db,
    network,
    findBroken: async () => [],
    readOpenWork: hangs,
    publicReads: { replicas: () => [] },
    isListening: () => true,
  });
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const answering = Promise.all([isReady(), isReady(), isReady()]);
  await vi.advanceTimersByTimeAsync(LIMIT_MS);
  const answers = await answering;
  expect(answers[0]).toMatchObject({
    isReady: false,
    checks: { database: 'ok', network: 'unreachable', signing: 'unreachable' },
  });
  expect(asked).toBe(1);
});
