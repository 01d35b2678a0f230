/**
 * The platform behind a real PgBouncer in transaction mode: apt-get install pgbouncer, or PGBOUNCER=<its
 * path>. Without PgBouncer these tests are skipped, and their title says so.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import { openConfiguredDatabase } from '../../../src/startup/openDatabase.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { openProject } from '../../../devnet/platform.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { memoryFolder } from '../../../devnet/memoryFolder.ts';
import { retirement } from '../../support/holding.ts';

const PGBOUNCER = process.env['PGBOUNCER'] ?? 'pgbouncer';
const isInstalled = spawnSync(PGBOUNCER, ['--version']).status === 0;
const SKIPPED = isInstalled ? '' : ' (SKIPPED: no pgbouncer on this machine; apt-get install pgbouncer)';
/** PgBouncer does not run as root. */
const UNPRIVILEGED = 65_534;
/** The settings that the program sets for its sessions. */
const IGNORED =
  'ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout, bytea_output, ' +
  'default_transaction_isolation, random_page_cost, search_path';

interface Pooler {
  url: string;
  stop(): Promise<void>;
}

async function startPgBouncer(databaseUrl: string, settings: string[] = []): Promise<Pooler> {
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
  const port = await freePort();
  const url = new URL(databaseUrl);
  await writeFile(join(folder, 'users.txt'), `"${url.username}" "${url.password}"\n`);
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    [
      '[databases]',
      `* = host=${url.hostname} port=${url.port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${join(folder, 'users.txt')}`,
      'pool_mode = transaction',
      'default_pool_size = 12',
      'max_client_conn = 200',
      ...settings,
    ].join('\n'),
  );
  await chmod(folder, 0o755);
  const child = spawn(PGBOUNCER, ['-q', join(folder, 'pgbouncer.ini')], {
    stdio: 'ignore',
    ...(userInfo().uid === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}),
  });
  await listens(port, child);
  url.port = String(port);
  return {
    url: url.href,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function listens(port: number, child: ChildProcess): Promise<void> {
  for (let looks = 0; looks < 200; looks++) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`);
    const socket = connect({ port, host: '127.0.0.1' });
    const isThere = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isThere) return;
    await delay(50);
  }
  throw new Error('pgbouncer does not listen');
}

describe.skipIf(!isInstalled)(`behind PgBouncer in transaction mode${SKIPPED}`, () => {
  let database: TestDatabase;
  let pooler: Pooler;
  let dataDir: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    pooler = await startPgBouncer(database.url);
    dataDir = await mkdtemp(join(await memoryFolder(), 'pooled-'));
  });
  afterAll(async () => {
    await pooler.stop();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const configured = async (settings: Record<string, string>) =>
    openConfiguredDatabase(await loadConfig({ DATA_DIR: dataDir, ...settings }));

  it('a start without DATABASE_DIRECT_URL stops, and says what to set', async () => {
    await expect(configured({ DATABASE_URL: pooler.url })).rejects.toThrow(/Set DATABASE_DIRECT_URL/);
  });

  it('the same where the pooler ignores the settings that it does not know', async () => {
    const lenient = await startPgBouncer(database.url, [IGNORED, 'default_pool_size = 1']);
    try {
      await expect(configured({ DATABASE_URL: lenient.url })).rejects.toThrow(/Set DATABASE_DIRECT_URL/);
      // The next client gets the same connection.
      const next = openDatabase({
        url: lenient.url,
        directUrl: database.url,
        poolSize: 1,
        applicationName: 'next',
      });
      const [limit] = await next.sql`SELECT current_setting('transaction_timeout') AS limit`;
      expect(limit).toEqual({ limit: '0' });
      await next.close();
    } finally {
      await lenient.stop();
    }
  });

  it('the same where it keeps sessions, but not the limits of their transactions', async () => {
    const lenient = await startPgBouncer(database.url, ['pool_mode = session', IGNORED]);
    try {
      await expect(configured({ DATABASE_URL: lenient.url })).rejects.toThrow(/Set DATABASE_DIRECT_URL/);
      const both = { DATABASE_URL: lenient.url, DATABASE_DIRECT_URL: database.url };
      await (await configured(both)).stop();
    } finally {
      await lenient.stop();
    }
  });

  it('a DATABASE_DIRECT_URL that is a pooler, or leads elsewhere, is refused', async () => {
    const other = await createTestDatabase();
    const elsewhere = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: other.url };
    await expect(configured(elsewhere)).rejects.toThrow(/not heard at DATABASE_DIRECT_URL/);
    const pooledTwice = { DATABASE_URL: database.url, DATABASE_DIRECT_URL: pooler.url };
    await expect(configured(pooledTwice)).rejects.toThrow(/not heard at DATABASE_DIRECT_URL/);
    await other.drop();
  });

  it('starts with it, and limits the statements of each transaction, but of nothing beside them', async () => {
    const opened = await configured({ DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: database.url });
    const { db } = opened.handle;
    const show = sql`SELECT current_setting('statement_timeout') AS statement,
      current_setting('idle_in_transaction_session_timeout') AS idle`;
    const limits = { statement: '8s', idle: '8s' };
    expect([...(await db.transaction((tx) => tx.execute(show)))]).toEqual([limits]);
    const longer = await db.transaction((tx) => tx.execute(show), { statementTimeoutMs: 60_000 });
    expect([...longer]).toEqual([{ ...limits, statement: '1min' }]);
    expect([...(await db.execute(show))]).toEqual([{ statement: '0', idle: '0' }]);
    await opened.stop();
  });

  it('two instances issue, sell and retire, each once, and wake each other', async () => {
    const handles: DatabaseHandle[] = [];
    const platforms: Platform[] = [];
    for (const name of ['first', 'second']) {
      const handle = openDatabase({
        url: pooler.url,
        directUrl: database.url,
        poolSize: 8,
        applicationName: name,
      });
      handles.push(handle);
      platforms.push(await platformOn(handle, await embeddedNetworkOn(handle)));
    }
    for (const platform of platforms) await platform.start();
    const [first, second] = platforms as [Platform, Platform];

    const heard = second.dependencies.stateSignal.waitFor('woken', 20_000).then(() => performance.now());
    const rungAt = performance.now();
    first.dependencies.stateSignal.notify('woken');
    expect((await heard) - rungAt).toBeLessThan(10_000);

    const { tokenAddress } = await openProject(first, 100n);
    const bought = { buyerId: 'acme', tokenAddress, amountCO2e: 100n, idempotencyKey: randomUUID() };
    await purchase(second.dependencies, 'acme', bought);
    const retirements = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        retire((i % 2 ? first : second).dependencies, 'acme', retirement(tokenAddress, 1n)),
      ),
    );
    expect(new Set(retirements.map(({ state }) => state))).toEqual(new Set(['RETIRED']));
    expect(await reconcileAll(first.dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });

    for (const platform of platforms) await platform.stop();
    for (const handle of handles) await handle.close();
  });
});
