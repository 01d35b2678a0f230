/**
 * Thousands of random operations, over every transport, by every kind of caller: no defect, no crash, and no
 * internal detail in any answer. FUZZ_SEED repeats a run, FUZZ_RUNS makes it longer.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ERROR_CODES } from '../../../src/lib/errors.ts';
import { ROLES } from '../../../src/identity/roles.ts';
import { defaultLimits } from '../../../src/limits/limits.ts';
import { schema } from '../../../src/schema/index.ts';
import { makeBelongings, OWNER } from '../../support/http/accessTable.ts';
import { askOver, TRANSPORTS } from '../../support/http/askOver.ts';
import { startMarketplace, tokenOf, type Marketplace } from '../../support/http/marketplace.ts';
import { randomOperation } from '../../support/http/randomOperations.ts';

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 600);
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);

/** Internal details: paths, stacks, statements and addresses. */
const INSIDE =
  /node_modules|\n\s+at |\/src\/|\.ts:\d|postgres|drizzle|Failed query|SELECT .* FROM|INSERT INTO|ECONNREFUSED|127\.0\.0\.1:\d/i;

/** The limit for a feed without events, which never answers. */
const PATIENCE_MS = 300;

const limits = defaultLimits();
let market: Marketplace;

beforeAll(async () => {
  market = await startMarketplace({
    // What is in flight has nothing to do with what is asked for.
    mutationWaitMs: 2_000,
    limits: {
      ...limits,
      RATE_LIMIT_ADDRESS_PER_MINUTE: 1_000_000,
      RATE_LIMIT_CALLER_PER_MINUTE: 1_000_000,
      RATE_LIMIT_MUTATIONS_PER_MINUTE: 1_000_000,
      RATE_LIMIT_REFUSED_CREDENTIALS_PER_MINUTE: 1_000_000,
      MAX_CPU_PERCENT_PER_ADDRESS: 1_000_000,
    },
  });
});
afterAll(() => market.stop());

it(
  `finds nothing in ${RUNS} random operations (FUZZ_SEED=${SEED})`,
  async () => {
    const own = await makeBelongings(market);
    const known = [...Object.values(own), OWNER, 'KE', 'KES', '0', market.network.custodyAddress, 'key-1'];
    // The public address is allowed, because it is the name in the logs' signed checkpoints.
    const ownHost = new URL(market.url).host;
    const seen = new Map<string, number>();
    const callers = [null, ...ROLES];
    await fc.assert(
      fc.asyncProperty(
        fc.gen(),
        fc.constantFrom(...TRANSPORTS),
        fc.constantFrom(...callers),
        async (g, transport, role) => {
          const operation = randomOperation(g, schema, known);
          const bearer = role === null ? null : await tokenOf({ role, subject: OWNER });
          const reply = await askOver(transport, market.url, {
            ...operation,
            bearer,
            patienceMs: PATIENCE_MS,
          });
          const codes = reply.errors.map(({ extensions }) => extensions.code);
          for (const code of codes.length === 0 ? ['OK'] : codes) seen.set(code, (seen.get(code) ?? 0) + 1);
          expect(codes, JSON.stringify(operation)).not.toContain('INTERNAL_SERVER_ERROR');
          for (const code of codes) expect(Object.keys(ERROR_CODES)).toContain(code);
          expect(reply.status ?? 200).toBeLessThan(500);
          expect(reply.closeCode).toBeNull();
          expect(reply.text.replaceAll(ownHost, '')).not.toMatch(INSIDE);
        },
      ),
      { numRuns: RUNS, seed: SEED },
    );
    // Otherwise nothing behind the first checks was tried.
    expect([...seen.keys()]).toEqual(
      expect.arrayContaining(['OK', 'NOT_FOUND', 'BAD_USER_INPUT', 'FORBIDDEN']),
    );
    const after = await askOver('http', market.url, { query: '{ ledgerNetwork { name } }' });
    expect(after.data).toEqual({ ledgerNetwork: { name: 'embedded' } });
  },
  60_000 + RUNS * 60,
);
