/**
 * Kills the primary under load and promotes its synchronous standby, without a change to the running server:
 * the server finds the new primary, loses nothing that was confirmed, and does nothing twice. When the old
 * primary is started again beside the new one, the server does not use it any more.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openProject, silentLog } from '../../devnet/platform.ts';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import { readReplicas, type PublicReads } from '../../src/db/publicReads.ts';
import { migrate } from '../../src/db/migrate.ts';
import { finalLedger } from '../../src/db/tables/index.ts';
import { openSeenLedgers } from '../../src/ledger/network/seenLedgers.ts';
import { readSigningState } from '../../src/ledger/submission/sequenceSlots.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { reconcileAll } from '../../src/reconciliation/reconcileAll.ts';
import {
  reasonAgainstReplication,
  startReplicatedPostgres,
  type ReplicatedPostgres,
} from '../support/database/replicatedPostgres.ts';
import { startMarketplace, type Marketplace } from '../support/http/marketplace.ts';

const CLIENTS = 4;
/** Number of requests confirmed before the primary is killed, and again after the failover. */
const CONFIRMED = 12;
const RETRY_MS = 100;
const UNSEEN = { accounts: ['custody'], maxOpenPerAccount: 1, landsUnseenForSeconds: 90 };
const acme = { role: 'buyer', subject: 'acme' } as const;

const reason = await reasonAgainstReplication();
if (reason !== null) console.warn(`skipped: failover needs two PostgreSQL servers, and ${reason}`);

describe.skipIf(reason !== null)('failover', () => {
  let servers: ReplicatedPostgres;
  let handle: DatabaseHandle;
  let reads: PublicReads;
  let market: Marketplace;

  beforeAll(async () => {
    servers = await startReplicatedPostgres();
    // The standby comes first: the order must not decide which server is used.
    const url = servers.url(servers.second, servers.first);
    handle = openDatabase({ url, poolSize: 12, applicationName: 'failover' });
    const database = { url, handle, drop: () => handle.close() };
    reads = readReplicas({
      primary: handle,
      replicas: [
        {
          name: 'second',
          handle: openDatabase({ url: servers.second.url, poolSize: 4, applicationName: 'reads' }),
        },
      ],
      maxLagMs: 2_000,
      log: silentLog,
    });
    market = await startMarketplace({ database, publicReads: reads, withIndexer: false });
  }, 60_000);
  afterAll(async () => {
    await market?.stop();
    await reads?.close();
    await handle?.close();
    await servers?.remove();
  }, 60_000);

  const get = (path: string) => fetch(market.url.replace('/graphql', path));
  const readyz = async () => (await get('/readyz')).status;

  it('reads public lists from the standby while it is fresh, else from the primary', async () => {
    const served = async () =>
      Number(/public_reads_total{from="replica"} (\d+)/.exec(await (await get('/metrics')).text())?.[1]);
    const assetIds = async () => {
      const { data } = await market.send<{ projects: { nodes: { assetId: string }[] } }>(
        '{ projects(first: 5) { nodes { assetId } } }',
      );
      return data?.projects.nodes.map(({ assetId }) => assetId);
    };
    const replicas = async () =>
      ((await (await get('/readyz')).json()) as { checks: Record<string, string> }).checks['replicas'];
    const first = await openProject(market.app, 10n);
    await expect.poll(replicas).toBeUndefined();
    await expect.poll(assetIds).toEqual([first.assetId]);
    await expect.poll(served).toBeGreaterThan(0);

    const standby = postgres(servers.second.url, { max: 1 });
    await standby`SELECT pg_wal_replay_pause()`;
    await expect
      .poll(async () => (await standby`SELECT pg_get_wal_replay_pause_state() AS is`)[0])
      .toEqual({ is: 'paused' });
    const second = await openProject(market.app, 10n);
    // The replica may answer until its age reaches the setting; then the primary answers.
    await expect.poll(assetIds).toEqual([second.assetId, first.assetId]);
    await expect.poll(replicas).toMatch(/is not used: \d+ s behind/);
    const before = await served();
    await assetIds();
    expect(await served()).toBe(before);
    await standby`SELECT pg_wal_replay_resume()`;
    await standby.end();
    await expect.poll(replicas).toBeUndefined();
    await assetIds();
    expect(await served()).toBeGreaterThan(before);
  });

  it('to the standby under load loses nothing that was confirmed', async () => {
    const [standby] = await handle.sql`SELECT sync_state AS state FROM pg_stat_replication`;
    expect(standby).toEqual({ state: 'sync' });
    const project = await openProject(market.app, 100_000n);
    const load = startLoad(market, project.tokenAddress);
    const feed = followFeed(market, project.tokenAddress);
    const heard: string[] = [];
    await handle.listen(
      'heard_after_failover',
      (payload) => heard.push(payload),
      () => {},
    );
    await until(() => load.confirmed.length >= CONFIRMED);
    expect(await readyz()).toBe(200);
    const seen = await openSeenLedgers({ db: handle.db, log: silentLog });
    seen.note({ ledger: 1n, hash: null });
    await expect.poll(() => handle.db.$count(finalLedger)).toBe(1);
    const maySign = async () => (await readSigningState(handle.db, UNSEEN)).freeSlots > 0;
    expect(await maySign()).toBe(true);

    await servers.first.kill();
    await expect.poll(readyz).toBe(503);
    await servers.second.promote();
    await expect.poll(readyz).toBe(200);
    // This network does not show waiting transactions, so the old primary may have signed some that this one
    // does not know.
    expect(await maySign()).toBe(false);

    const before = load.confirmed.length;
    await until(() => load.confirmed.length >= before + CONFIRMED);
    await load.stop();
    await until(async () => {
      await handle.sql`SELECT pg_notify('heard_after_failover', 'yes')`;
      return heard.length > 0;
    });

    const { dependencies } = market.app;
    for (const { id, field } of load.confirmed) expect(await existing(market, id), field).toEqual({ id });
    const retired = load.confirmed.filter(({ field }) => field === 'retire').length;
    expect(await dependencies.network.carbonTotals(project.tokenAddress)).toEqual({
      totalSupply: toBaseUnits(100_000n - BigInt(retired)),
      totalRetired: toBaseUnits(BigInt(retired)),
      totalRetirements: retired,
    });
    await until(() => feed.indexes.length >= retired);
    feed.stop();
    expect(feed.indexes).toEqual(Array.from({ length: retired }, (_, index) => index));
    // The background work runs again.
    await until(async () => (await dependencies.logs.findBehind()).length === 0);
    expect(await reconcileAll(dependencies)).toMatchObject({ findings: [], notProved: [] });
  }, 120_000);

  it('leaves the old primary alone when it comes back, whichever server is named first', async () => {
    await servers.first.start();
    const url = servers.url(servers.first, servers.second);
    const started = openDatabase({ url, poolSize: 4, applicationName: 'started later' });
    try {
      for (const one of [started, handle]) {
        const [row] = await one.sql<{ port: number }[]>`SELECT inet_server_port() AS port`;
        expect(row).toEqual({ port: servers.second.port });
      }
      await migrate(url, ['platform']);
      // The new primary is down: waiting is right, and going back to the old one is wrong.
      await servers.second.kill();
      await expect(started.sql`SELECT 1`).rejects.toThrow(/takes writes/);
      await servers.second.start();
      await until(async () => (await started.sql`SELECT 1 AS one`.catch(() => [])).length === 1);
    } finally {
      await started.close();
      await servers.first.kill();
    }
  }, 120_000);

  it('notices that a server was made read-only, without a restart', async () => {
    const administrator = postgres(servers.second.url, { max: 1 });
    await administrator.unsafe('ALTER SYSTEM SET default_transaction_read_only = on');
    await administrator`SELECT pg_reload_conf()`;
    await expect.poll(readyz).toBe(503);
    await administrator.unsafe('ALTER SYSTEM RESET default_transaction_read_only');
    await administrator`SELECT pg_reload_conf()`;
    await administrator.end();
    await expect.poll(readyz).toBe(200);
  }, 60_000);
});

interface Confirmed {
  field: 'purchase' | 'retire';
  id: string;
}

/** Runs clients that repeat a request under its key until it is answered. */
function startLoad(market: Marketplace, tokenAddress: string) {
  const confirmed: Confirmed[] = [];
  let isOver = false;

  async function untilConfirmed(field: Confirmed['field'], text: string, input: object): Promise<void> {
    const variables = { input: { ...input, tokenAddress, buyerId: 'acme', idempotencyKey: randomUUID() } };
    for (;;) {
      const answer = await market
        .send<Record<string, Record<string, { id: string }>>>(text, variables, acme)
        .catch(() => null);
      const id = Object.values(answer?.data?.[field] ?? {})[0]?.id;
      if (id !== undefined) return void confirmed.push({ field, id });
      const { extensions } = answer?.errors[0] ?? {};
      if (extensions && ['BAD_USER_INPUT', 'FORBIDDEN'].includes(extensions.code))
        throw new Error(answer?.errors[0]?.message);
      await delay(RETRY_MS);
    }
  }

  async function client(): Promise<void> {
    while (!isOver) {
      await untilConfirmed('purchase', PURCHASE, { amountCO2e: '3' });
      await untilConfirmed('retire', RETIRE, { amountCO2e: '1', buyerName: 'Acme' });
    }
  }

  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  clients.catch(() => {});
  return {
    confirmed,
    async stop() {
      isOver = true;
      await clients;
    },
  };
}

const PURCHASE = `mutation ($input: PurchaseInput!) { purchase(input: $input) { purchase { id } } }`;
const RETIRE = `mutation ($input: RetireInput!) { retire(input: $input) { retirement { id state } } }`;

async function existing(market: Marketplace, id: string): Promise<unknown> {
  const { data } = await market.send<{ node: unknown }>(
    'query ($id: ID!) { node(id: $id) { id } }',
    { id },
    acme,
  );
  return data?.node;
}

/** Follows the feed as a client that subscribes again from its last cursor when its subscription ends. */
function followFeed(market: Marketplace, tokenAddress: string) {
  const indexes: number[] = [];
  const socket = market.socket();
  let cursor = '0';
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      const events = socket.iterate<{ retirementFeed: { cursor: string; record: { index: number } } }>({
        query: FEED,
        variables: { tokenAddress, after: cursor },
      });
      try {
        for await (const { data } of events) {
          if (isOver) return;
          if (!data) break;
          cursor = data.retirementFeed.cursor;
          indexes.push(data.retirementFeed.record.index);
        }
      } catch {
        // The next subscription begins where this one ended.
      }
      await delay(RETRY_MS);
    }
  };
  void run();
  return {
    indexes,
    stop: () => {
      isOver = true;
    },
  };
}

const FEED = `subscription ($tokenAddress: Address!, $after: String) {
  retirementFeed(tokenAddress: $tokenAddress, after: $after) { cursor record { index } } }`;

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(50);
}
