/**
 * The real HTTP server on a free port, with a small schema from the product's own builder, for tests that
 * need no database.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createIdSource, systemClock } from '../../../src/lib/clock.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import { createHttpServer } from '../../../src/http/server/server.ts';
import type { HttpServerOptions } from '../../../src/http/server/server.ts';
import { noAuditLog } from '../../../devnet/noAuditLog.ts';
import { endsByExpiry } from '../../../src/identity/credentialEnds.ts';
import { ROLES, type Role } from '../../../src/identity/roles.ts';
import { createTokenVerifier, signToken } from '../../../src/identity/tokens.ts';
import { defaultLimits, type Limits } from '../../../src/limits/limits.ts';
import { createRateLimits } from '../../../src/limits/rateLimits.ts';
import { NetworkRefusal, NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { createBuilder } from '../../../src/schema/core/createBuilder.ts';
import { beneficiary, note } from '../../../src/schema/core/text.ts';

const secret = 'a secret of the tests that is long enough';
export const IDENTITY = {
  secret,
  secrets: [secret],
  issuer: 'https://issuer.test',
  audience: 'marketplace',
};

/** What the source of a `ticks` subscription observes. */
interface TickSource {
  pulls: number;
  /** Resolves when the stream was stopped. */
  returned: Promise<void>;
}

interface TestDependencies {
  /** Called for each subscription to `ticks`. */
  onTicks: (source: TickSource) => void;
}

export interface LoggedLine {
  fields: Record<string, unknown>;
  message: string;
}

export function token(roles: readonly Role[], overrides: Partial<Parameters<typeof signToken>[0]> = {}) {
  return signToken({
    ...IDENTITY,
    subject: 'acme',
    roles,
    expiresInSeconds: 300,
    now: () => new Date(),
    ...overrides,
  });
}

/** The defaults, without the limit on computing time: how much a test uses depends on the machine. */
export function testLimits(): Limits {
  return { ...defaultLimits(), MAX_CPU_PERCENT_PER_ADDRESS: 1_000_000 };
}

/** A started server; the caller closes it. */
export async function startServer(overrides: Partial<HttpServerOptions> = {}) {
  const problems: LoggedLine[] = [];
  const operations: LoggedLine[] = [];
  const sources: TickSource[] = [];
  const writeTo = (lines: LoggedLine[]) => (fields: object, message: string) => {
    lines.push({ fields: fields as Record<string, unknown>, message });
  };
  const log = {
    error: writeTo(problems),
    warn: writeTo(problems),
    info: writeTo(operations),
    debug: writeTo(operations),
    isLevelEnabled: () => true,
  } as unknown as HttpServerOptions['log'];
  const limits = { ...testLimits(), ...overrides.limits };
  const dependencies: TestDependencies = { onTicks: (source) => sources.push(source) };
  const server = createHttpServer({
    schema: testSchema(),
    dependencies,
    verifyToken: createTokenVerifier({ ...IDENTITY, now: () => new Date() }),
    allowedOrigins: [],
    introspection: true,
    limits,
    rateLimits: createRateLimits(limits, null, log),
    credentialEnds: endsByExpiry(overrides.clock ?? systemClock),
    audit: noAuditLog,
    clock: systemClock,
    log,
    graphiql: null,
    readLogFile: null,
    pages: null,
    hooks: { retirements: async () => undefined, payoutSettled: async () => undefined },
    readiness: async () => ({ isReady: true, checks: {} }),
    newRequestId: () => ids.next(),
    ...overrides,
  });
  const port = await server.listen(0, '127.0.0.1');
  return {
    ...server,
    port,
    url: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}/graphql`,
    /** The log's warnings and errors. */
    log: problems,
    /** The log's other lines, about operations. */
    operations,
    sources,
    post: (body: unknown, headers: Record<string, string> = {}) =>
      fetch(`http://127.0.0.1:${port}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  };
}

export type TestServer = Awaited<ReturnType<typeof startServer>>;

export interface AnswerBody {
  data?: Record<string, unknown> | null;
  errors?: { message: string; path?: string[]; extensions: Record<string, unknown> }[];
}

/** The code of the first error in an answer. */
export async function codeOf(response: Response): Promise<unknown> {
  return ((await response.json()) as AnswerBody).errors?.[0]?.extensions['code'];
}

/** Waits for a condition that other code brings about; otherwise the test's own timeout ends it. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(5);
}

const ids = createIdSource(systemClock);

const THROWN: Record<string, () => Error> = {
  domain: () =>
    new DomainError('INSUFFICIENT_BALANCE', 'You own 1, not 5.', { available: '1', requested: '5' }),
  refusal: () => new NetworkRefusal({ reason: 'PAUSED', message: 'The token is paused.' }),
  unavailable: () => new NetworkUnavailable('connect ECONNREFUSED 10.0.0.7:8000'),
  defect: () => new Error('password=hunter2 at 10.0.0.7'),
};

function deferred() {
  let resolve: (() => void) | undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: () => resolve?.() };
}

function testSchema() {
  const builder = createBuilder<TestDependencies>();
  const input = builder.inputType('RetireInput', {
    fields: (t) => ({
      buyerId: t.string({ required: true }),
      amountCO2e: t.field({ type: 'Tonnes', required: true }),
      buyerName: t.string({ required: true, validate: { schema: beneficiary } }),
      note: t.string({ validate: { schema: note } }),
    }),
  });
  const crate = builder.objectRef<{ tonnes: bigint; label: string }>('Crate').implement({
    fields: (t) => ({
      tonnes: t.expose('tonnes', { type: 'Tonnes' }),
      label: t.exposeString('label'),
      none: t.string({ nullable: true, resolve: () => null }),
      origin: t.string({
        nullable: true,
        resolve: ({ label }) => {
          if (label === '') throw THROWN['domain']?.() ?? new Error('no such failure');
          return label;
        },
      }),
    }),
  });
  builder.queryType({
    fields: (t) => ({
      crates: t.field({
        type: [crate],
        authScopes: { public: true },
        resolve: () => [
          { tonnes: 12n, label: '"Kasigau" \u2028 ☃' },
          { tonnes: 2n ** 62n, label: '' },
        ],
      }),
      hello: t.string({ authScopes: { public: true }, resolve: () => 'world' }),
      later: t.string({
        authScopes: { public: true },
        resolve: async () => {
          await delay(20);
          return 'at last';
        },
      }),
      tonnes: t.field({
        type: 'Tonnes',
        args: { amount: t.arg({ type: 'Tonnes', required: true }) },
        authScopes: { public: true },
        resolve: (_, { amount }) => amount,
      }),
      whoami: t.string({
        authScopes: { role: ROLES },
        resolve: (_, _args, { caller }) => caller?.subject ?? '',
      }),
      operators: t.string({ authScopes: { role: ['operator'] }, resolve: () => 'only' }),
      fail: t.string({
        args: { how: t.arg.string({ required: true }) },
        authScopes: { public: true },
        resolve: (_, { how }) => {
          throw THROWN[how]?.() ?? new Error(`no such failure: ${how}`);
        },
      }),
    }),
  });
  builder.mutationType({
    fields: (t) => ({
      retire: t.string({
        args: { input: t.arg({ type: input, required: true }) },
        authScopes: (_, args) => ({ $any: { role: ['operator'], buyer: args.input.buyerId } }),
        recordedInput: { targets: ['buyerId'], shown: ['amountCO2e'], hidden: ['buyerName', 'note'] },
        safeWithoutKey: 'it does nothing',
        resolve: (_, args) =>
          `${args.input.amountCO2e} for ${args.input.buyerName}: ${args.input.note ?? '-'}`,
      }),
    }),
  });
  builder.subscriptionType({
    fields: (t) => ({
      ticks: t.string({
        args: {
          count: t.arg.int(),
          bytes: t.arg.int({ defaultValue: 1 }),
          wait: t.arg.boolean(),
          lateMs: t.arg.int(),
        },
        authScopes: { public: true },
        subscribe: async (_, { count, bytes, wait, lateMs }, { dependencies }) => {
          if (lateMs) await delay(lateMs);
          return ticks(dependencies, count ?? Number.POSITIVE_INFINITY, bytes ?? 1, wait ?? false);
        },
        resolve: (tick: string) => tick,
      }),
      secretTicks: t.string({
        authScopes: { role: ['operator'] },
        subscribe: (_, _args, { dependencies }) => ticks(dependencies, 1, 1, false),
        resolve: (tick: string) => tick,
      }),
    }),
  });
  return builder.toSchema();
}

/**
 * Yields numbers padded to `bytes`. If `wait` is set, it waits for `return` after the last one, as a live
 * feed does.
 */
function ticks(
  dependencies: TestDependencies,
  count: number,
  bytes: number,
  wait: boolean,
): AsyncIterableIterator<string> {
  const { promise: returned, resolve: stop } = deferred();
  const source: TickSource = { pulls: 0, returned };
  dependencies.onTicks(source);
  const finished = { done: true as const, value: undefined };
  return {
    next: async () => {
      if (source.pulls >= count) {
        if (wait) await returned;
        return finished;
      }
      source.pulls += 1;
      return { done: false, value: String(source.pulls).padEnd(bytes, '.') };
    },
    return: async () => {
      stop();
      return finished;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
