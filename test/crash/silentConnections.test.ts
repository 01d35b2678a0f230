/**
 * Connections that fall silent: a proxy stops forwarding the open connections, and passes new ones. Queries
 * on silent connections are given up in time, and the next queries use new connections.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import { NoFreeConnection } from '../../src/db/connectionLost.ts';
import { freePort } from '../../src/db/embedded/freePort.ts';
import { succeeds } from '../../src/lib/errors.ts';
import { rateLimits } from '../../src/db/tables/index.ts';
import { codeOf } from '../../src/http/graphql/errors.ts';
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts';
import { startDatabaseProxy, type DatabaseProxy } from '../../devnet/databaseProxy.ts';
import { startTcpProxy } from '../../devnet/tcpProxy.ts';
import { startMarketplace } from '../support/http/marketplace.ts';
import { projectInput } from '../../devnet/platform.ts';
import { pathOf } from '../support/run/programs.ts';

/** Timeout of the pools here; the product waits 10 s. */
const ANSWER_TIMEOUT_MS = 3_000;
/** Time that a loaded machine may add to a deadline. */
const SLACK_MS = 20_000;

let database: TestDatabase;
let proxy: DatabaseProxy;
let handle: DatabaseHandle;

const openSmall = () =>
  openDatabase({
    url: proxy.url,
    poolSize: 6,
    applicationName: 'behind the proxy',
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
  });

beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  handle = openSmall();
});
afterEach(async () => {
  await handle.close();
  await proxy.close();
  await database.drop();
});

const mark = (key: string) => ({ key, points: 1, endsAt: sql`now()` });
const insert = (key: string) => handle.db.transaction((tx) => tx.insert(rateLimits).values(mark(key)));
const ask = () => handle.db.execute(sql`SELECT pg_sleep(0.05)`);

async function useAllConnections(): Promise<void> {
  await Promise.all(Array.from({ length: 6 }, ask));
}

async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

describe('a pool whose connections fell silent', () => {
  it('rejects what waits for them in time, and serves what is asked then', async () => {
    await useAllConnections();
    proxy.strike('silent');
    const works = [
      ...Array.from({ length: 12 }, (_, i) => insert(`silent ${i}`)),
      ...Array.from({ length: 12 }, ask),
    ];
    const givenUpMs = await elapsedMs(() => Promise.allSettled(works));
    expect(givenUpMs).toBeLessThan(ANSWER_TIMEOUT_MS + SLACK_MS);
    expect(await elapsedMs(() => insert('after'))).toBeLessThan(SLACK_MS);
    expect(await elapsedMs(useAllConnections)).toBeLessThan(SLACK_MS);
  });

  it('gives up the idle ones with the first one that gave no answer', async () => {
    await useAllConnections();
    proxy.strike('silent');
    await expect(insert('silent')).rejects.toThrow();
    // Another silent connection would reject the insert that gets it.
    for (let i = 0; i < 6; i++) await insert(`after ${i}`);
  });

  it('rejects a transaction in its middle, and frees the rows that it locked', async () => {
    await insert('row');
    const update = (db: Pick<DatabaseHandle['db'], 'execute'>) =>
      db.execute(sql`UPDATE rate_limits SET points = points + 1 WHERE key = 'row'`);
    let goOn: () => void = () => {};
    const work = handle.db.transaction(async (tx) => {
      await update(tx);
      proxy.strike('silent');
      goOn();
      await tx.execute(sql`SELECT 1`);
    });
    await new Promise<void>((resolve) => (goOn = resolve));
    const retried = (async () => {
      while (!(await succeeds(handle.db.transaction(update)))) await delay(100);
    })();
    await expect(work).rejects.toThrow();
    expect(await elapsedMs(() => retried)).toBeLessThan(SLACK_MS);
    expect(await database.handle.db.select().from(rateLimits)).toMatchObject([{ points: 2 }]);
  });

  it('frees the rows of a transaction whose statement has told its types, and gets no values', async () => {
    await insert('row');
    const { hostname: host, port } = new URL(database.url);
    const link = await startTcpProxy({ host, port: Number(port) });
    const url = new URL(database.url);
    url.port = String(link.port);
    const silent = openDatabase({
      url: url.href,
      poolSize: 2,
      applicationName: 'silent within a statement',
      answerTimeoutMs: 500,
    });
    const work = silent.db.transaction(async (tx) => {
      await tx.execute(sql`UPDATE rate_limits SET points = points + 1 WHERE key = 'row'`);
      // The server waits for the values, in the middle of a statement.
      link.atNextAnswer(() => link.suffer('silent'));
      await tx.execute(sql`SELECT ${'a value'}::text`);
    });
    await expect(work).rejects.toThrow();
    const isFree = () =>
      database.handle.db
        .execute(sql`SELECT FROM rate_limits WHERE key = 'row' FOR UPDATE NOWAIT`)
        .then(({ length }) => length === 1)
        .catch(() => false);
    await expect.poll(isFree, { timeout: SLACK_MS }).toBe(true);
    await silent.close();
    await link.close();
  });

  it('closes without waiting for them', async () => {
    await useAllConnections();
    proxy.strike('silent');
    const works = [insert('silent'), ask()].map((work) => expect(work).rejects.toThrow());
    expect(await elapsedMs(() => handle.close())).toBeLessThan(ANSWER_TIMEOUT_MS);
    await Promise.all(works);
    handle = openSmall();
  });
});

it('single statements that wait too long for a connection are answered DATABASE_UNAVAILABLE', async () => {
  const pair = openDatabase({
    url: proxy.url,
    poolSize: 2,
    applicationName: 'two connections',
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
  });
  let end: () => void = () => {};
  const held = pair.db.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL idle_in_transaction_session_timeout = 60000`);
    await new Promise<void>((resolve) => (end = resolve));
  });
  const works = await Promise.all(
    Array.from({ length: 4 }, () => pair.db.execute(sql`SELECT pg_sleep(2)`).then(() => 'OK', codeOf)),
  );
  expect(works).toEqual(['OK', 'OK', 'OK', 'DATABASE_UNAVAILABLE']);
  end();
  await held;
  await pair.close();
});

it('transactions that wait too long for a connection are refused, and hinder no statement', async () => {
  const ends: (() => void)[] = [];
  const held = Array.from({ length: 3 }, () =>
    handle.db.transaction(async (tx) => {
      await tx.execute(sql`SET LOCAL idle_in_transaction_session_timeout = 60000`);
      await new Promise<void>((resolve) => ends.push(resolve));
    }),
  );
  const late = insert('late');
  await expect(late).rejects.toThrow(NoFreeConnection);
  await ask();
  for (const end of ends) end();
  await Promise.all(held);
  await insert('next');
});

describe('a server whose connections fell silent', () => {
  it('is not ready while a mutation would not be answered, and both come back', async () => {
    const marketplace = await startMarketplace({ database: { ...database, handle }, withIndexer: false });
    const isReady = async () => (await fetch(marketplace.url.replace('/graphql', '/readyz'))).status === 200;
    const create = async () => {
      const { data } = await marketplace.send(
        `mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id state } } }`,
        { input: { ...projectInput(), quantityCO2e: '10' } },
        { role: 'developer', subject: 'developer' },
      );
      return data !== null;
    };
    expect(await create()).toBe(true);
    expect(await isReady()).toBe(true);

    // The server keeps each readiness answer for a second.
    await delay(1_100);
    proxy.strike('silent');
    const silentAt = performance.now();
    expect(await isReady()).toBe(false);
    while (!(await create())) expect(performance.now() - silentAt).toBeLessThan(15_000 + SLACK_MS);
    while (!(await isReady())) {
      expect(performance.now() - silentAt).toBeLessThan(15_000 + SLACK_MS);
      await delay(200);
    }
    await marketplace.stop();
  });

  it('ends on SIGTERM within seconds', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'silent-'));
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const server = spawn(process.execPath, [pathOf('src/main.ts')], {
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: proxy.url,
        DATA_DIR: dataDir,
        PORT: String(port),
        LOG_LEVEL: 'error',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(server, 'exit');
    await once(server.stdout, 'data');
    expect((await fetch(`${url}/readyz`)).status).toBe(200);

    proxy.strike('silent');
    const asked = fetch(`${url}/readyz`).catch(() => null);
    await delay(500);
    const stopMs = await elapsedMs(async () => {
      server.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    });
    expect(stopMs).toBeLessThan(5_000 + SLACK_MS);
    await asked;
    await rm(dataDir, { recursive: true, force: true });
  });
});
