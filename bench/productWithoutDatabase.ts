/**
 * The product's HTTP server with a small schema that needs no database. It shows what tokens, limits, the
 * log, errors and GraphQL cost around a resolver. Only the audit log is left out, because it is a table.
 */
import { createHttpServer } from '../src/http/server/server.ts';
import { noAuditLog } from '../devnet/noAuditLog.ts';
import { endsByExpiry } from '../src/identity/credentialEnds.ts';
import { createTokenVerifier } from '../src/identity/tokens.ts';
import { createIdSource, systemClock } from '../src/lib/clock.ts';
import { createLogger } from '../src/lib/logger.ts';
import { defaultLimits } from '../src/limits/limits.ts';
import { createRateLimits } from '../src/limits/rateLimits.ts';
import { createBuilder } from '../src/schema/core/createBuilder.ts';
import { beneficiary } from '../src/schema/core/text.ts';
import { keepTickShape } from '../src/startup/keepTickShape.ts';
import { IDENTITY } from './mutationToken.ts';

const BEYOND_ONE_MACHINE = 1_000_000_000;

keepTickShape();
await serve();

async function serve(): Promise<void> {
  const log = createLogger({ level: 'info', pretty: false });
  const limits = {
    ...defaultLimits(),
    RATE_LIMIT_ADDRESS_PER_MINUTE: BEYOND_ONE_MACHINE,
    RATE_LIMIT_CALLER_PER_MINUTE: BEYOND_ONE_MACHINE,
    RATE_LIMIT_MUTATIONS_PER_MINUTE: BEYOND_ONE_MACHINE,
  };
  const server = createHttpServer({
    schema: schema(),
    dependencies: {},
    verifyToken: createTokenVerifier({ ...IDENTITY, now: systemClock.now }),
    allowedOrigins: [],
    introspection: true,
    limits,
    rateLimits: createRateLimits(limits, null, log),
    credentialEnds: endsByExpiry(systemClock),
    audit: noAuditLog,
    clock: systemClock,
    log,
    graphiql: null,
    readLogFile: null,
    pages: null,
    hooks: { retirements: async () => undefined, payoutSettled: async () => undefined },
    readiness: async () => ({ isReady: true, checks: {} }),
    newRequestId: createIdSource(systemClock).next,
  });
  await server.listen(Number(process.env['PORT']), '127.0.0.1');
  process.on('SIGTERM', () => process.exit(0));
}

function schema() {
  const builder = createBuilder<object>();
  const input = builder.inputType('RetireInput', {
    fields: (t) => ({
      buyerId: t.string({ required: true }),
      buyerName: t.string({ required: true, validate: { schema: beneficiary } }),
      amountCO2e: t.field({ type: 'Tonnes', required: true }),
    }),
  });
  builder.queryType({
    fields: (t) => ({ hello: t.string({ authScopes: { public: true }, resolve: () => 'world' }) }),
  });
  builder.mutationType({
    fields: (t) => ({
      retire: t.string({
        args: { input: t.arg({ type: input, required: true }) },
        authScopes: (_root, args) => ({ buyer: args.input.buyerId }),
        recordedInput: { targets: ['buyerId'], shown: ['amountCO2e'], hidden: ['buyerName'] },
        safeWithoutKey: 'it does nothing',
        resolve: (_root, args) => `${args.input.amountCO2e} tonnes`,
      }),
    }),
  });
  return builder.toSchema();
}
