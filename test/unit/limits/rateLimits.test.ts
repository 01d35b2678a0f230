/**
 * What a client that asks for too much is told, and what its work costs its address alone.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import type { Caller } from '../../../src/identity/roles.ts';
import type { CpuThrottle } from '../../../src/limits/cpuThrottle.ts';
import { defaultLimits, type Limits } from '../../../src/limits/limits.ts';
import { createRateLimits } from '../../../src/limits/rateLimits.ts';

const ADDRESS = '203.0.113.7';
const OTHER = '203.0.113.8';
const CALLER: Caller = {
  subject: 'acme',
  roles: ['buyer'],
  warehouseIds: [],
  expiresAt: 0,
  apiKeyId: null,
  jti: null,
  issuedAt: null,
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
});

function limitsWith(settings: Partial<Limits>, cpuThrottle?: CpuThrottle) {
  const delayed: string[] = [];
  const delayRefusal = async (key: string) => void delayed.push(key);
  const log = { warn: () => undefined };
  const parts = cpuThrottle ? { delayRefusal, cpuThrottle } : { delayRefusal };
  const limits = createRateLimits({ ...defaultLimits(), ...settings }, null, log, parts);
  onTestFinished(() => limits.stop());
  return { limits, delayed };
}
type RateLimits = ReturnType<typeof limitsWith>['limits'];

const askedBy = (remoteAddress: string, caller: Caller | null = null) => ({ caller, remoteAddress });

it.each<[string, number, number, Partial<Limits>, string, (limits: RateLimits) => Promise<void>]>([
  [
    'address',
    1,
    60,
    { RATE_LIMIT_ADDRESS_PER_MINUTE: 1 },
    ADDRESS,
    (limits) => limits.admitAddress(ADDRESS, []),
  ],
  ['caller', 1, 60, { RATE_LIMIT_CALLER_PER_MINUTE: 1 }, 'acme', (limits) => limits.admitCaller(CALLER, [])],
  [
    'mutations',
    6,
    60,
    { RATE_LIMIT_MUTATIONS_PER_MINUTE: 6 },
    'acme',
    (limits) => limits.admitMutations(askedBy(OTHER, CALLER), 4, []),
  ],
  [
    'mutations',
    6,
    60,
    { RATE_LIMIT_MUTATIONS_PER_MINUTE: 6 },
    ADDRESS,
    (limits) => limits.admitMutations(askedBy(ADDRESS), 4, []),
  ],
  [
    'refused-credentials',
    1,
    60,
    { RATE_LIMIT_REFUSED_CREDENTIALS_PER_MINUTE: 1 },
    ADDRESS,
    async (limits) => {
      await limits.admitCredential(ADDRESS);
      await limits.noteRefusedCredential(ADDRESS);
    },
  ],
  [
    'refused-deliveries',
    120,
    60,
    {},
    ADDRESS,
    async (limits) => {
      await limits.admitDelivery(ADDRESS);
      for (let i = 0; i < 120; i++) await limits.noteRefusedDelivery(ADDRESS);
    },
  ],
  [
    'address',
    1,
    60,
    { RATE_LIMIT_ADDRESS_PER_MINUTE: 1 },
    ADDRESS,
    (limits) => limits.admitDelivery(ADDRESS),
  ],
  [
    'cpu',
    500,
    2.5,
    {},
    ADDRESS,
    async (limits) => {
      await limits.admitAddress(ADDRESS, []);
      limits.chargeCpu(ADDRESS, 1_000);
    },
  ],
])(
  'a refusal by %s says what is exceeded, and when to come again, and is delayed for its client alone',
  async (policy, limit, windowSeconds, settings, key, ask) => {
    const throttle = { charge: () => undefined, awaitTurn: () => null };
    const { limits, delayed } = limitsWith({ MAX_CPU_PERCENT_PER_ADDRESS: 20, ...settings }, throttle);
    await ask(limits);
    const retryAfterSeconds = Math.ceil(windowSeconds);
    await expect(ask(limits)).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      message: `More than ${limit} in ${windowSeconds} s (${policy}); try again in ${retryAfterSeconds} s.`,
      details: { policy, limit, retryAfterSeconds },
    });
    expect(delayed).toEqual([key]);
    expect([...limits.refusals]).toEqual([[policy, 1]]);
    await limits.admitAddress(OTHER, []);
    await limits.admitCaller({ ...CALLER, subject: 'globex' }, []);
    await limits.admitCredential(OTHER);
    await limits.admitDelivery('203.0.113.9');
    vi.advanceTimersByTime(retryAfterSeconds * 1000);
    await ask(limits);
  },
);

it('a request that was admitted is refused, too, once its address has computed too much', () => {
  const { limits } = limitsWith({ MAX_CPU_PERCENT_PER_ADDRESS: 20 });
  limits.requireCpu(ADDRESS);
  limits.chargeCpu(ADDRESS, 501);
  expect(() => limits.requireCpu(ADDRESS)).toThrow('More than 500 in 2.5 s (cpu); try again in 1 s.');
  limits.requireCpu(OTHER);
});

it('a request waits for the turn of its address', async () => {
  let goOn = () => {};
  const turn = new Promise<void>((resolve) => (goOn = resolve));
  const throttle = { charge: () => undefined, awaitTurn: (key: string) => (key === ADDRESS ? turn : null) };
  const { limits } = limitsWith({}, throttle);
  let isAdmitted = false;
  const admitted = limits.admitAddress(ADDRESS, []).then(() => (isAdmitted = true));
  await limits.admitAddress(OTHER, []);
  await nextTurn();
  expect(isAdmitted).toBe(false);
  goOn();
  expect(await admitted).toBe(true);
});

it.each([
  [20, 20],
  [50, 5],
  [100, 0],
  [200, 0],
])(
  'an address that may use %d percent of a processor rests %d ms from 10 ms of it',
  async (percent, restMs) => {
    const { limits } = limitsWith({ MAX_CPU_PERCENT_PER_ADDRESS: percent });
    limits.chargeCpu(ADDRESS, 10);
    let isAdmitted = false;
    vi.advanceTimersByTime(Math.max(restMs - 1, 0));
    const admitted = limits.admitAddress(ADDRESS, []).then(() => (isAdmitted = true));
    await nextTurn();
    expect(isAdmitted).toBe(restMs === 0);
    vi.advanceTimersByTime(1);
    await admitted;
  },
);

it('a refused delivery costs its address computing time; one that is slowed down costs it a rest alone', async () => {
  const charged: [string, number][] = [];
  const throttle = {
    charge: (...charge: [string, number]) => void charged.push(charge),
    awaitTurn: () => null,
  };
  const settings = { MAX_CPU_PERCENT_PER_ADDRESS: 1, RATE_LIMIT_ADDRESS_PER_MINUTE: 60_000 };
  const { limits } = limitsWith(settings, throttle);
  for (let i = 0; i < 1_000; i++) limits.slowDown(ADDRESS);
  // Half of the time in which its budget allows a request.
  expect(charged.splice(0)).toEqual(Array.from({ length: 1_000 }, () => [ADDRESS, 0.5]));
  for (let i = 0; i < 13; i++) {
    limits.requireCpu(ADDRESS);
    await limits.noteRefusedDelivery(ADDRESS);
  }
  expect(charged).toEqual(Array.from({ length: 13 }, () => [ADDRESS, 2]));
  expect(() => limits.requireCpu(ADDRESS)).toThrow('(cpu)');
});
