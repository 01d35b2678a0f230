/**
 * Payouts with a lost webhook: noticed within a minute at first, then asked about ever less often, without
 * flooding the provider however many are open.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listenLocally } from '../../../devnet/listenLocally.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { createHttpProvider } from '../../../src/ramp/http/httpProvider.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import { retryAfterMs } from '../../../src/lib/retryAfter.ts';
import { createRequestThrottle } from '../../../src/ramp/http/requestThrottle.ts';
import {
  findOffRampSession,
  type OffRampSession,
} from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { setManualSessionStatus } from '../../../src/resolvers/operations/setManualSessionStatus.ts';
import { createSessionPoller } from '../../../src/resolvers/warehouse/offRamp/pollOpenSessions.ts';
import { receivePayoutHint } from '../../../src/resolvers/warehouse/offRamp/receivePayoutHint.ts';
import { nextPollMs, payoutPollMs } from '../../../src/resolvers/warehouse/offRamp/schedules.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { insertSessionAlone } from '../../support/offRampSessionRow.ts';
import { idlePlatform, platformOn, type StartedPlatform } from '../../support/platform.ts';
import { depositedCashOut, makeDue, providerSays, reaches, setSilently } from '../../support/warehouse.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

async function secondsToDue({ handle }: TestDatabase, id: string): Promise<number | null> {
  const [row] = await handle.sql<{ seconds: number | null }[]>`
    SELECT extract(epoch FROM due_at - now())::float AS seconds FROM off_ramp_sessions WHERE id = ${id}`;
  return row?.seconds ?? null;
}

describe('an awaited payout', () => {
  let database: TestDatabase;
  let platform: Platform;
  let end: StartedPlatform['end'];
  beforeAll(async () => {
    ({ database, platform, end } = await idlePlatform());
  });
  afterAll(() => end());

  it('is asked about within a minute, however often that was in vain', async () => {
    const working = await platformOn(database.handle, platform.dependencies.network);
    await working.start();
    const { id, providerSessionId } = await depositedCashOut(working);
    await working.stop();
    for (const fruitlessSteps of [5, 9, 30]) {
      await makeDue(platform, id, { fruitlessSteps });
      await createSessionPoller(platform.dependencies).drain();
      const seconds = await secondsToDue(database, id);
      expect(seconds).toBeLessThan(60);
      expect(seconds).toBeGreaterThan(1);
    }
    await setSilently(database.handle.db, providerSessionId, 'settled');
    await makeDue(platform, id);
    await createSessionPoller(platform.dependencies).drain();
    expect(await findOffRampSession(platform.dependencies, id)).toMatchObject({
      state: 'CONFIRMING',
      hints: 0,
    });
  });

  it('that is paid after it was given back is noticed at once, though the manual provider could call nothing', async () => {
    const working = await platformOn(database.handle, platform.dependencies.network);
    await working.start();
    const { dependencies } = working;
    const { id, providerSessionId: sessionId } = await depositedCashOut(working);
    await providerSays(working, sessionId, 'failed');
    await reaches(working, id, 'REFUNDED');
    await setManualSessionStatus(dependencies, 'operator', { sessionId, status: 'settled' });
    expect(await reaches(working, id, 'NEEDS_REVIEW')).toMatchObject({ providerStatus: 'settled' });
    await working.stop();
  });

  it('is asked about more rarely with its age, and with the number of others', () => {
    const longest = (ageMs: number, openPayouts = 1) => payoutPollMs(30, { ageMs, openPayouts }, () => 1);
    expect(longest(0)).toBe(30_000);
    expect(longest(HOUR_MS)).toBe(30_000);
    expect(longest(6 * HOUR_MS)).toBe(3 * MINUTE_MS);
    expect(longest(30 * 24 * HOUR_MS)).toBe(10 * MINUTE_MS);
    // The first looks come earlier.
    expect(payoutPollMs(1, { ageMs: 0, openPayouts: 1 }, () => 1)).toBe(4_000);
    // At most five requests a second for all payouts, even at the shortest random intervals.
    for (const openPayouts of [100, 10_000, 1_000_000]) {
      for (const fruitlessSteps of [0, 1, 30]) {
        const shortestMs = payoutPollMs(fruitlessSteps, { ageMs: 0, openPayouts }, () => 0);
        expect((openPayouts / shortestMs) * 1000).toBeLessThanOrEqual(5);
      }
    }
  });

  it('is asked about at the rate of all payouts also while the provider does not answer', () => {
    const session = { state: 'AWAITING_PAYOUT' } as OffRampSession;
    const failing = { hasFailed: true, sinceDepositedMs: 0, sinceEndedMs: 0, depositsNeedAllowance: false };
    for (const openPayouts of [100, 10_000, 1_000_000]) {
      for (const fruitlessSteps of [1, 5, 30]) {
        const now = { ...failing, fruitlessSteps, openPayouts, random: () => 0 };
        const delayMs = nextPollMs(session, now) ?? Infinity;
        expect((openPayouts / delayMs) * 1000).toBeLessThanOrEqual(5);
      }
    }
  });
});

describe('a question of a webhook that fails', () => {
  let database: TestDatabase;
  let platform: Platform;
  let end: StartedPlatform['end'];
  beforeAll(async () => {
    ({ database, platform, end } = await idlePlatform());
  });
  afterAll(() => end());

  const at = new Date();
  const ago = (hours: number) => new Date(at.getTime() - hours * HOUR_MS);
  const deposited = { depositedAt: at, depositTxHash: 'deposit' };
  const settling = { ...deposited, resolution: 'SETTLE' } as const;
  const settled = { ...settling, state: 'SETTLED', releasedAt: at, endedAt: at } as const;

  const failing = async (): Promise<never> => {
    throw new DomainError('RAMP_UNAVAILABLE', 'The ramp provider could not be asked.');
  };

  it.each([
    ['SETTLED', settled],
    ['SETTLED, longer ago than it is asked about', { ...settled, endedAt: ago(100) }],
    ['CLOSED', { state: 'CLOSED', stateReason: 'refused', providerStatus: 'failed', endedAt: at }],
    ['NEEDS_REVIEW', { ...deposited, state: 'NEEDS_REVIEW' }],
    ['CONFIRMING', { ...settling, state: 'CONFIRMING' }],
    ['DEPOSITING', { state: 'DEPOSITING' }],
  ] as const)('is asked again soon, until it is answered: %s', async (_state, values) => {
    const { dependencies } = platform;
    const { ramp } = dependencies;
    const providerSessionId = randomUUID();
    const id = await insertSessionAlone(database.handle.db, {
      ...values,
      providerName: ramp.name,
      providerAskedAt: at,
      providerSessionId,
      dueAt: null,
      fruitlessSteps: 50,
    });
    let questions = 0;
    const drainWith = (getStatus: typeof ramp.getStatus) => {
      const counted: typeof getStatus = (...asked) => {
        questions++;
        return getStatus(...asked);
      };
      return createSessionPoller({ ...dependencies, ramp: { ...ramp, getStatus: counted } }).drain();
    };
    await receivePayoutHint(dependencies, providerSessionId);
    for (const longestSeconds of [4, 8, 16]) {
      await drainWith(failing);
      const seconds = await secondsToDue(database, id);
      expect(seconds).not.toBeNull();
      expect(seconds).toBeLessThanOrEqual(longestSeconds);
      await makeDue(platform, id);
    }
    await drainWith(async () => ({ status: values.state === 'CLOSED' ? 'failed' : 'processing' }));
    expect(questions).toBe(4);
    // From now on the state's own schedule goes on.
    expect((await secondsToDue(database, id)) ?? HOUR_MS).toBeGreaterThan(3000);
  });

  it('is not asked again when the provider has forgotten the payout, which is an answer', async () => {
    const { dependencies } = platform;
    const { ramp } = dependencies;
    const providerSessionId = randomUUID();
    const opened = { providerName: ramp.name, providerAskedAt: at, providerSessionId };
    const id = await insertSessionAlone(database.handle.db, { ...settled, ...opened, endedAt: ago(100) });
    await receivePayoutHint(dependencies, providerSessionId);
    // The manual provider has no such payout.
    await createSessionPoller(dependencies).drain();
    expect(await secondsToDue(database, id)).toBeNull();
  });
});

describe('a provider', () => {
  async function serve(answer: (count: number) => { status: number; headers?: Record<string, string> }) {
    const arrivedMs: number[] = [];
    const server = createServer((request, response) => {
      arrivedMs.push(performance.now());
      const { status, headers } = answer(arrivedMs.length);
      const id = request.url?.split('/').at(-1);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ id, clientReference: 'x', status: 'pending' }));
    });
    const { url, close } = await listenLocally(server);
    const provider = createHttpProvider({
      name: 'ramp',
      url,
      apiKey: 'key',
      callbackSecrets: [],
      fetch,
      // For hangs alone: a busy machine may take seconds for a request.
      timeoutMs: 60_000,
      throttle: createRequestThrottle(20),
    });
    return { provider, arrivedMs, close };
  }

  it('gets no more requests than it accepts, however many are due', async () => {
    const { provider, arrivedMs, close } = await serve(() => ({ status: 200 }));
    const askedAtMs = performance.now();
    await Promise.all(Array.from({ length: 30 }, (_, i) => provider.getStatus(`p${i}`)));
    await close();
    expect(arrivedMs).toHaveLength(30);
    // At twenty a second, the nth request is sent 50 ms × n after the first or later; timers round to
    // milliseconds.
    for (const [n, arrived] of arrivedMs.entries()) {
      expect(arrived - askedAtMs).toBeGreaterThanOrEqual(n * 50 - 2);
    }
  });

  it('is left alone for as long as it says, which a reconciliation waits for', async () => {
    const { provider, arrivedMs, close } = await serve((count) =>
      count === 1 ? { status: 429, headers: { 'retry-after': '1' } } : { status: 200 },
    );
    await expect(provider.getStatus('p')).rejects.toMatchObject({ code: 'RAMP_UNAVAILABLE' });
    expect(provider.freeInMs?.()).toBeGreaterThan(500);
    expect(await provider.getStatus('p')).toMatchObject({ status: 'pending' });
    await close();
    expect((arrivedMs[1] ?? 0) - (arrivedMs[0] ?? 0)).toBeGreaterThan(900);
  });

  it('is not waited for behind a queue that is too long', async () => {
    const throttle = createRequestThrottle(1);
    throttle.pauseFor(30_000);
    await expect(throttle.acquire()).rejects.toThrow('no request is free for 30 s (1 a second)');
  });

  it('says how long in seconds, or until when', () => {
    const now = new Date('2026-03-10T12:00:00Z');
    expect(retryAfterMs('7', now)).toBe(7_000);
    expect(retryAfterMs('Tue, 10 Mar 2026 12:00:30 GMT', now)).toBe(30_000);
    expect(retryAfterMs('Tue, 10 Mar 2026 11:00:30 GMT', now)).toBe(0);
    for (const nonsense of [null, '', 'soon', '-1x']) expect(retryAfterMs(nonsense, now)).toBeNull();
  });
});
