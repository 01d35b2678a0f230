/**
 * The errors for callers whose operation loses the connection to the database: they never say that there was
 * a defect, and never say that nothing was done when something may have been done.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openDatabase } from '../../src/db/connection.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { startDatabaseProxy, type DatabaseProxy } from '../../devnet/databaseProxy.ts';
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts';
import { buy, buyer, developer, mutate, newToken, payloadOf } from '../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace } from '../support/http/marketplace.ts';

/** Timeout of this pool; a query that waits for a connection is given up 2 s later. */
const ANSWER_TIMEOUT_MS = 3_000;
const PROJECTS = '{ projects(first: 1) { nodes { assetId } } }';
/** Internals that a caller must not see: addresses, statements, and names. */
const INTERNAL = /ECONN|127\.0\.0\.1|postgres|select |insert |socket/i;

let database: TestDatabase;
let proxy: DatabaseProxy;
let market: Marketplace;
let token: string;
let lines: string[];

interface Line {
  msg: string;
  path?: string;
  err?: { message: string };
}
/** Returns the log lines about failed operations. */
const failures = () =>
  lines.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg.startsWith('an operation failed'));

beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  const behindProxy = openDatabase({
    url: proxy.url,
    poolSize: 10,
    applicationName: 'behind the proxy',
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
  });
  lines = [];
  const log = createLogger({ level: 'error', pretty: false }, { write: (line) => lines.push(line) });
  const through = { url: proxy.url, handle: behindProxy, drop: () => behindProxy.close() };
  market = await startMarketplace({ database: through, withIndexer: false, log });
  token = await newToken(market);
});
afterEach(async () => {
  await market.stop();
  await market.database.drop();
  await proxy.close().catch(() => {});
  await database.drop();
});

const purchase = (input: Record<string, unknown>) =>
  mutate<{ purchase: { tonnes: string } }>(
    market,
    ['purchase', 'PurchaseInput', 'purchase { tonnes }'],
    { buyerId: 'acme', tokenAddress: token, amountCO2e: 50, ...input },
    buyer('acme'),
  );

it('a mutation whose commit was not answered: its effect is not known, and the same again finds it', async () => {
  let lost = 0;
  // Loses one more commit than the platform retries.
  proxy.loseCommitsWhen((sent) => sent.some((text) => text.includes('post_transfers')) && lost++ < 2);
  const input = { idempotencyKey: randomUUID() };
  const { data, errors } = await purchase(input);
  expect(data).toEqual({ purchase: null });
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatchObject({
    message: expect.stringMatching(/not known.*same idempotency key/) as string,
    extensions: {
      code: 'DATABASE_UNAVAILABLE',
      retryAfterSeconds: 1,
      requestId: expect.any(String) as string,
    },
  });
  expect(errors[0]?.message).not.toMatch(INTERNAL);
  expect(failures()).toMatchObject([
    { msg: 'an operation failed: the database was not available', path: 'purchase' },
  ]);
  expect(JSON.stringify(failures()[0]?.err)).toMatch(/connection to the database ended|failed/);

  expect((await purchase(input)).data?.['purchase']).toEqual({ purchase: { tonnes: '50' } });
  const [bought] = await database.handle.db.execute(sql`SELECT count(*)::int AS count FROM purchases`);
  expect(bought).toEqual({ count: 1 });
});

it('a retirement that is held, and then finds no free connection: its effect is not known, and the burn goes on', async () => {
  const { handle } = market.database;
  await buy(market, 'acme', token, 50);
  let sleeping: Promise<unknown> | undefined;
  proxy.loseCommitsWhen((sent) => {
    const isHold = sent.some((text) => text.includes('post_transfers'));
    // These queries keep the ten connections busy for longer than the mutation's next read waits.
    if (isHold)
      sleeping ??= Promise.allSettled(Array.from({ length: 60 }, () => handle.sql`SELECT pg_sleep(2)`));
    return false;
  });
  const input = { idempotencyKey: randomUUID(), tokenAddress: token, buyerId: 'acme', amountCO2e: 50 };
  const retire = () =>
    mutate<{ retirement: { state: string } }>(
      market,
      ['retire', 'RetireInput', 'retirement { state }'],
      { ...input, buyerName: 'Acme', note: 'flights' },
      buyer('acme'),
    );
  const { errors } = await retire();
  expect(errors).toMatchObject([
    {
      message: expect.stringMatching(/not known.*same idempotency key/) as string,
      extensions: { code: 'DATABASE_UNAVAILABLE', retryAfterSeconds: 1 },
    },
  ]);
  expect(errors[0]?.message).not.toMatch(/nothing was done/);

  await sleeping;
  expect(payloadOf(await retire())).toEqual({ retirement: { state: 'RETIRED' } });
});

it('a database that is gone: what is entered in the audit log first was not done, of the others it is not known', async () => {
  await proxy.close();
  const withEffect = await purchase({ idempotencyKey: randomUUID() });
  expect(withEffect.errors).toMatchObject([
    {
      message: expect.stringMatching(/not known.*same idempotency key/) as string,
      extensions: { code: 'DATABASE_UNAVAILABLE' },
    },
  ]);
  const price = {
    projectId: Buffer.from(`Project:${randomUUID()}`).toString('base64url'),
    pricePerTonne: { amount: '2.5', currency: 'USD' },
    idempotencyKey: randomUUID(),
  };
  const begunFirst = await mutate(
    market,
    ['setProjectPrice', 'SetProjectPriceInput', 'project { id }'],
    price,
    developer,
  );
  expect(begunFirst.errors).toMatchObject([
    { message: expect.stringMatching(/nothing was done/) as string, extensions: { code: 'OVERLOADED' } },
  ]);
});

it('a database that is gone: queries say to ask again, and pages are 503', async () => {
  await market.send(PROJECTS);
  await proxy.close();
  const { errors } = await market.send(PROJECTS);
  expect(errors[0]).toMatchObject({
    message: expect.stringMatching(/is not available.*Ask again/) as string,
    extensions: { code: 'DATABASE_UNAVAILABLE', retryAfterSeconds: 1 },
  });
  expect(errors[0]?.message).not.toMatch(INTERNAL);
  expect(errors[0]?.message).not.toMatch(/idempotency/);
  expect(JSON.stringify(failures()[0]?.err)).toMatch(/ECONNREFUSED|ended/);

  const page = await fetch(new URL('/projects', market.url), { headers: { accept: 'text/html' } });
  expect(page.status).toBe(503);
  expect(await page.text()).toContain('The database is not available at the moment.');
});

it('a mutation that was not begun: nothing was done', async () => {
  await proxy.close();
  const { errors } = await mutate(
    market,
    ['setProjectPrice', 'SetProjectPriceInput', '__typename'],
    {
      projectId: Buffer.from(`Project:${randomUUID()}`).toString('base64url'),
      pricePerTonne: { amount: '1.00', currency: 'EUR' },
    },
    developer,
  );
  expect(errors[0]?.extensions.code).toBe('OVERLOADED');
  expect(errors[0]?.message).toMatch(/nothing was done/);
});
