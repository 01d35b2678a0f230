/**
 * Readiness answers within its limit, even when all checks hang in turn, and runs each check once at a time.
 * What every instance has is named, and diverts no traffic.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { createReadiness } from '../../../src/http/server/readiness.ts';
import { WHOLE_HISTORY } from '../../../src/ledger/network/continuity.ts';
import { MAY_LAND_UNSEEN } from '../../../src/ledger/network/seenLedgers.ts';

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

interface State {
  network?: Partial<Deps['network']>;
  signing?: { haltedBecause: string | null; mayLandUnseen: boolean };
  transaction?: () => Promise<void>;
  deps?: Partial<Deps>;
  accounts?: Pick<NonNullable<Deps['network']['signingOrder']>, 'accounts' | 'missing' | 'unfunded'>;
}

function readinessIn({ network: ofNetwork, signing, transaction = async () => {}, deps, accounts }: State) {
  const row = { open: 0, haltedBecause: null, mayLandUnseen: false, ...signing };
  const select = () => ({ from: () => ({ where: async () => [row] }) });
  const network = {
    ...WHOLE_HISTORY,
    signingOrder: { accounts: ['custody'], ...accounts, maxOpenPerAccount: 1 },
    status: async () => ({}),
    nextSequences: async () => new Map(),
    ...ofNetwork,
  } as unknown as Deps['network'];
  const since = { stuckSince: null, overdueSince: null, expiryOverdueSince: null };
  return createReadiness({
    db: { transaction, select } as unknown as Deps['db'],
    network,
    findBroken: async () => [],
    readOpenWork: async () => ({
      ...since,
      stuckSubmissions: 0,
      overdueSessions: 0,
      overdueExpiryRuns: 0,
    }),
    publicReads: { replicas: () => [] },
    isListening: () => true,
    ...deps,
  })();
}

const OK = { database: 'ok', network: 'ok' };

it.each<[string, State, Record<string, unknown>]>([
  ['nothing', {}, {}],
  ['halted signing', { signing: { haltedBecause: 'why', mayLandUnseen: false } }, { signing: 'halted: why' }],
  [
    'signing that waits',
    { signing: { haltedBecause: null, mayLandUnseen: true } },
    { signing: `waiting: ${MAY_LAND_UNSEEN}` },
  ],
  [
    'broken invariants',
    { deps: { findBroken: async () => ['I1', 'I2'] } },
    { reconciliation: 'broken: I1, I2' },
  ],
  [
    'lost notifications',
    { deps: { isListening: () => false } },
    { notifications: expect.stringMatching(/^lost: /) },
  ],
  [
    'an unused replica',
    {
      deps: {
        publicReads: {
          replicas: () => [
            { name: 'a', obstacle: null, lagMs: 1 },
            { name: 'b', obstacle: '9 s behind', lagMs: 9_000 },
          ],
        },
      },
    },
    { replicas: 'b is not used: 9 s behind' },
  ],
  [
    'signing accounts that are missing or can’t pay',
    { accounts: { accounts: ['A', 'B'], missing: ['C'], unfunded: ['B'] } },
    { channels: "1 of 3 signing accounts do not exist, 1 of 3 signing accounts can't pay" },
  ],
])('is ready with %s, and names each problem', async (_, state, problems) => {
  expect(await readinessIn(state)).toEqual({ isReady: true, checks: { ...OK, ...problems } });
});

it('is not ready without its database, and says of nothing in it that it is a problem', async () => {
  const transaction = () => Promise.reject(new Error('read only'));
  const deps = { findBroken: transaction, readOpenWork: transaction };
  expect(await readinessIn({ transaction, deps })).toEqual({
    isReady: false,
    checks: { database: 'unreachable', network: 'ok' },
  });
});

it('is not ready while the network names no sequence numbers, without which nothing is signed', async () => {
  const nextSequences = () => Promise.reject(new Error('busy'));
  expect(await readinessIn({ network: { nextSequences } })).toEqual({
    isReady: false,
    checks: { database: 'ok', network: 'unreachable' },
  });
});
