/**
 * Rate limits for callers and addresses, per minute, and their headers.
 *
 *   address              every request, socket and operation from one address, but for health probes
 *   caller               every request, socket and operation with one credential's subject
 *   mutations            every field of a mutation, per caller, or per address without one
 *   refused-credentials  every token and API key that was refused, per address
 *   refused-deliveries   every delivery to a webhook that was not believed, per address
 *   cpu                  computing time of this instance, per address, over 2.5 seconds
 *
 * A refusal waits until the last refusal of the same caller or address is 10 ms old (refusalDelays.ts). A
 * request waits until its address has rested from the computing that it caused on this instance
 * (cpuThrottle.ts).
 */
import { lt, sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { rateLimits } from '../db/tables/index.ts';
import { DomainError } from '../lib/errors.ts';
import type { Caller } from '../identity/roles.ts';
import type { Logger } from '../lib/logger.ts';
import { singleFlight } from '../lib/singleFlight.ts';
import { addressKey, networkKey } from '../lib/addressKey.ts';
import { createCpuThrottle, MAX_STEP_MS, type CpuThrottle } from './cpuThrottle.ts';
import type { Limits } from './limits.ts';
import { createRefusalDelays, type DelayRefusal } from './refusalDelays.ts';
import { createSharedBudget, type SharedBudget, type Usage } from './sharedBudget.ts';
import { createTokenBuckets } from './tokenBuckets.ts';

type RateLimitSettings = Pick<
  Limits,
  Extract<keyof Limits, `RATE_LIMIT_${string}`> | 'MAX_CPU_PERCENT_PER_ADDRESS'
>;

/** The caller and address of a request. */
interface Asker {
  caller: Caller | null;
  remoteAddress: string;
}

export interface RateLimits {
  /**
   * Admits one request, socket or operation of an address; adds to `usages`.
   * @throws DomainError RATE_LIMITED
   */
  admitAddress(remoteAddress: string, usages: Usage[]): Promise<void>;
  /** Like admitAddress, for a caller. */
  admitCaller(caller: Caller, usages: Usage[]): Promise<void>;
  /** Call it before a credential is verified. @throws DomainError RATE_LIMITED after too many refused ones */
  admitCredential(remoteAddress: string): Promise<void>;
  noteRefusedCredential(remoteAddress: string): Promise<void>;
  /**
   * Call it before a webhook's delivery is read.
   * @throws DomainError RATE_LIMITED, also after too many refused ones
   */
  admitDelivery(remoteAddress: string): Promise<void>;
  noteRefusedDelivery(remoteAddress: string): Promise<void>;
  /** Charges computing time to an address; after too much, `admitAddress` refuses it for a while. */
  chargeCpu(remoteAddress: string, ms: number): void;
  /** Lets the next request of an address wait as after a small query, without charging the address. */
  slowDown(remoteAddress: string): void;
  /**
   * Checks a recently admitted request at once.
   * @throws DomainError RATE_LIMITED while its address has caused too much computing
   */
  requireCpu(remoteAddress: string): void;
  /** @throws DomainError RATE_LIMITED */
  admitMutations(asker: Asker, fields: number, usages: Usage[]): Promise<void>;
  /** Number of refusals of each policy since the start. */
  refusals: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

const WINDOW_SECONDS = 60;
/** After a change of its secret a sender has refused deliveries, and the next ones must still come in. */
const REFUSED_DELIVERIES_PER_MINUTE = 120;
/** Charge for reading and verifying a large delivery, and a look into the database. */
const REFUSED_DELIVERY_MS = 2;
const SHARE_INTERVAL_MS = 1_000;
const SWEEP_INTERVAL_MS = 5 * 60_000;
/** Short, because other clients wait during a burst. By default it is half a second of computing. */
const CPU_WINDOW_SECONDS = 2.5;

/** Parts that tests replace. */
interface RateLimitParts {
  delayRefusal?: DelayRefusal;
  cpuThrottle?: CpuThrottle;
}

/** @param db null for a single instance. */
export function createRateLimits(
  settings: RateLimitSettings,
  db: Db | null,
  log: Pick<Logger, 'warn'>,
  { delayRefusal = createRefusalDelays(), cpuThrottle }: RateLimitParts = {},
): RateLimits {
  const budgets = createBudgets(settings, db);
  const { counts: refusals, refusalOf } = createRefusals();
  const refuse = async (usage: Refused, key: string) => {
    const refusal = refusalOf(usage);
    await delayRefusal(key);
    throw refusal;
  };
  const spend = async (from: SharedBudget, key: string, points: number, usages: Usage[]) => {
    const usage = from.spend(key, points);
    usages.push(usage);
    if (usage.isOverspent) await refuse(usage, key);
  };
  const requireLeft = async (of: SharedBudget, remoteAddress: string) => {
    const key = addressKey(remoteAddress);
    const usage = of.peek(key);
    if (usage.remainingPoints === 0) await refuse(usage, key);
  };
  const stepMs = stepOf(settings.RATE_LIMIT_ADDRESS_PER_MINUTE);
  const { MAX_CPU_PERCENT_PER_ADDRESS: percent } = settings;
  const cpu = createCpuBudget(
    percent,
    cpuThrottle ?? createCpuThrottle({ restShare: restShareOf(percent), stepMs }),
  );
  const stopSharing = shareRegularly(Object.values(budgets), db, log);
  const admitAddress = async (remoteAddress: string, usages: Usage[]) => {
    const key = addressKey(remoteAddress);
    const overspent = cpu.overspent(key);
    if (overspent !== null) await refuse(overspent, key);
    await spend(budgets.address, key, 1, usages);
    const turn = cpu.throttle.awaitTurn(key);
    if (turn !== null) await turn;
  };
  const chargeCpu = (remoteAddress: string, ms: number) => cpu.charge(addressKey(remoteAddress), ms);
  return {
    admitAddress,
    requireCpu(remoteAddress) {
      const overspent = cpu.overspent(addressKey(remoteAddress));
      if (overspent !== null) throw refusalOf(overspent);
    },
    chargeCpu,
    slowDown: (remoteAddress) => cpu.throttle.charge(addressKey(remoteAddress), stepMs),
    admitCaller: ({ subject }, usages) => spend(budgets.caller, subject, 1, usages),
    admitCredential: (remoteAddress) => requireLeft(budgets.refusedCredentials, remoteAddress),
    async noteRefusedCredential(remoteAddress) {
      budgets.refusedCredentials.spend(addressKey(remoteAddress), 1);
    },
    async admitDelivery(remoteAddress) {
      await admitAddress(remoteAddress, []);
      await requireLeft(budgets.refusedDeliveries, remoteAddress);
    },
    async noteRefusedDelivery(remoteAddress) {
      chargeCpu(remoteAddress, REFUSED_DELIVERY_MS);
      budgets.refusedDeliveries.spend(addressKey(remoteAddress), 1);
    },
    admitMutations: (asker, fields, usages) =>
      asker.caller === null
        ? spend(budgets.addressMutations, addressKey(asker.remoteAddress), fields, usages)
        : spend(budgets.callerMutations, asker.caller.subject, fields, usages),
    refusals,
    stop: stopSharing,
  };
}

/** Separate for addresses and callers: otherwise strangers at many addresses use up the callers' budget. */
function createBudgets(settings: RateLimitSettings, db: Db | null) {
  const policyOf = (name: string, points: number) => ({ name, points, windowSeconds: WINDOW_SECONDS });
  const ofAddresses = (name: string, points: number) =>
    createSharedBudget({ ...policyOf(name, points), keyPrefix: `${name}-of-address` }, db, networkKey);
  const ofCallers = (name: string, points: number) => createSharedBudget(policyOf(name, points), db);
  return {
    address: ofAddresses('address', settings.RATE_LIMIT_ADDRESS_PER_MINUTE),
    caller: ofCallers('caller', settings.RATE_LIMIT_CALLER_PER_MINUTE),
    addressMutations: ofAddresses('mutations', settings.RATE_LIMIT_MUTATIONS_PER_MINUTE),
    callerMutations: ofCallers('mutations', settings.RATE_LIMIT_MUTATIONS_PER_MINUTE),
    refusedCredentials: ofAddresses(
      'refused-credentials',
      settings.RATE_LIMIT_REFUSED_CREDENTIALS_PER_MINUTE,
    ),
    refusedDeliveries: ofAddresses('refused-deliveries', REFUSED_DELIVERIES_PER_MINUTE),
  };
}

/** Makes the refusals, and counts them by policy. */
function createRefusals() {
  const counts = new Map<string, number>();
  const refusalOf = ({ policy, resetSeconds }: Refused): DomainError => {
    counts.set(policy.name, (counts.get(policy.name) ?? 0) + 1);
    return new DomainError(
      'RATE_LIMITED',
      `More than ${policy.points} in ${policy.windowSeconds} s (${policy.name}); try again in ${resetSeconds} s.`,
      { policy: policy.name, limit: policy.points, retryAfterSeconds: resetSeconds },
    );
  };
  return { counts, refusalOf };
}

/**
 * Time between two requests of a slowed address: half of the time in which its budget allows one request, so
 * that the throttle is no lower limit than the budget, unless the event loop is late.
 */
function stepOf(addressPerMinute: number): number {
  return Math.min((WINDOW_SECONDS * 1000) / addressPerMinute / 2, MAX_STEP_MS);
}

/** Half of the rest that would keep an address at its percentage, because people cause short bursts. */
function restShareOf(percent: number): number {
  return Math.max(100 / percent - 1, 0) / 2;
}

type Refused = Pick<Usage, 'policy' | 'resetSeconds'>;

/** The computing budgets of this instance alone: another one has processors of its own. */
function createCpuBudget(percent: number, throttle: CpuThrottle) {
  const perSecond = percent * 10;
  const points = perSecond * CPU_WINDOW_SECONDS;
  const buckets = createTokenBuckets({ capacity: points, perSecond }, () => performance.now());
  const policy = { name: 'cpu', points, windowSeconds: CPU_WINDOW_SECONDS };
  return {
    charge(key: string, ms: number) {
      buckets.take(key, ms);
      throttle.charge(key, ms);
    },
    throttle,
    /** Null while points are left. */
    overspent(key: string): Refused | null {
      const resetSeconds = buckets.waitSeconds(key);
      return resetSeconds > 0 ? { policy, resetSeconds } : null;
    },
  };
}

/** @returns the function that ends the sharing, after the running turn */
function shareRegularly(
  budgets: readonly SharedBudget[],
  db: Db | null,
  log: Pick<Logger, 'warn'>,
): () => Promise<void> {
  let turn: Promise<void> | null = null;
  let sweptAtMs = performance.now();
  const share = async () => {
    for (const budget of budgets) await budget.share();
    if (db === null || performance.now() - sweptAtMs < SWEEP_INTERVAL_MS) return;
    sweptAtMs = performance.now();
    await db.delete(rateLimits).where(lt(rateLimits.endsAt, sql`now()`));
  };
  const shareOnce = singleFlight(() =>
    share().catch((err: unknown) =>
      log.warn({ err }, 'rate limits could not be shared with other instances'),
    ),
  );
  const timer = setInterval(() => {
    turn = shareOnce();
  }, SHARE_INTERVAL_MS).unref();
  return async () => {
    clearInterval(timer);
    await turn;
  };
}

/** RateLimit and RateLimit-Policy of the IETF's draft-ietf-httpapi-ratelimit-headers. */
export function rateLimitHeaders(usages: readonly Usage[]): Record<string, string> {
  if (usages.length === 0) return {};
  return {
    'ratelimit-policy': usages
      .map(({ policy: { name, points, windowSeconds } }) => `"${name}";q=${points};w=${windowSeconds}`)
      .join(', '),
    ratelimit: usages
      .map(
        ({ policy, remainingPoints, resetSeconds }) =>
          `"${policy.name}";r=${remainingPoints};t=${resetSeconds}`,
      )
      .join(', '),
  };
}
