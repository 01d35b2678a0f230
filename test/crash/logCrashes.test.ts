/**
 * Kills a process that builds the transparency logs at many of its messages to and from PostgreSQL: heads of
 * one size never differ, the finished log extends every head, no leaf is lost or duplicated, and another
 * instance goes on.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { openProject } from '../../devnet/platform.ts';
import { transparencyHeads } from '../../src/db/tables/index.ts';
import { appendRecords, countStored } from '../../src/feed/appendRecords.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { purchase } from '../../src/resolvers/carbon/purchase.ts';
import type { TokenizedProject } from '../../src/resolvers/carbon/findProject.ts';
import { reconcileLogs } from '../support/reconciliation/reconcileLogs.ts';
import type { Platform } from '../../src/startup/compose.ts';
import { parseCheckpoint, type SignedNote } from '../../src/transparency/checkpoint.ts';
import { writeAuditEntries } from '../support/auditEntries.ts';
import { embeddedNetworkOn, platformOn } from '../support/platform.ts';
import { logAll } from '../support/reconciliation/logAll.ts';
import { pathOf } from '../support/run/programs.ts';
import { useInstances } from './instances.ts';

const APP_SECRET = 'an application secret for tests alone';
/**
 * Odd, so that kills hit both sent and received messages. Each round adds to all logs, so that each has
 * something to build.
 */
const STRIDE = 3;
/** Only a hang needs as many: a build has about a hundred messages. */
const MAX_MESSAGES = 1_000;

const { instances, database } = useInstances();

it('what builds the logs may be killed anywhere', { timeout: 600_000 }, async () => {
  const project = await openProject(await instances.start(1), 1_000n);
  await instances.stop();
  // The platform is not started, so it builds only when the test asks.
  const other = await platformOn(database().handle, await embeddedNetworkOn(database().handle), {
    appSecret: APP_SECRET,
  });
  await logAll(other.dependencies.logs);
  const heads = new Map<string, SignedNote>();
  let kills = 0;
  let killAt = 1;
  for (; killAt < MAX_MESSAGES; killAt += STRIDE) {
    await addToEachLog(other, project);
    const isBuilt = await build(other.dependencies.network.networkId, killAt);
    await keepHeads(heads);
    if (isBuilt) break;
    kills += 1;
    // After every second kill, the next process inherits the unfinished build.
    if (kills % 2 === 0) await logAll(other.dependencies.logs);
    await keepHeads(heads);
  }
  expect(killAt).toBeLessThan(MAX_MESSAGES);
  expect(kills).toBeGreaterThan(20);
  await logAll(other.dependencies.logs);
  const { db } = database().handle;
  const sizes = await db
    .select({ log: transparencyHeads.log, size: transparencyHeads.size })
    .from(transparencyHeads);
  const rounds = kills + 1;
  // The transfers include the mint; an audit entry is logged once it has its outcome.
  expect(Object.fromEntries(sizes.map(({ log, size }) => [log, size]))).toEqual({
    retirements: rounds,
    transfers: rounds + 1,
    audit: rounds,
  });
  const keptCheckpoints = [...heads.values()];
  expect(keptCheckpoints.length).toBeGreaterThan(kills);
  const deps = { db, logs: other.dependencies.logs, keptCheckpoints };
  expect(await reconcileLogs(deps)).toMatchObject({
    findings: [],
    notProved: [],
  });
  const [transfers] = await database().handle.sql`
    SELECT count(*)::int AS leaves, count(DISTINCT id)::int AS ids, count(t.id)::int AS there FROM (
      SELECT unnest(row_ids) AS id FROM transparency_tiles WHERE log = 'transfers' AND level = 0) AS leaf LEFT JOIN transfers t USING (id)`;
  expect(transfers).toEqual({ leaves: rounds + 1, ids: rounds + 1, there: rounds + 1 });
  await other.stop();
});

/** Adds a purchase, a record and an audit entry. */
async function addToEachLog({ dependencies }: Platform, project: TokenizedProject): Promise<void> {
  const { id: projectId, tokenAddress } = project;
  const { db } = dependencies;
  const input = { buyerId: 'acme', tokenAddress, amountCO2e: 1n, idempotencyKey: randomUUID() };
  await purchase(dependencies, 'acme', input);
  const count = await countStored(db, tokenAddress);
  // The last stored record, and a new one.
  const records = [count - 1, count]
    .filter((index) => index >= 0)
    .map((index) => ({
      index,
      amount: toBaseUnits(1n),
      retiredBy: dependencies.network.custodyAddress,
      timestamp: 1n,
      beneficiary: 'Acme',
      note: '',
    }));
  await db.transaction((tx) =>
    appendRecords(tx, [{ token: { projectId, tokenAddress }, records, verified: new Map() }], new Date()),
  );
  await writeAuditEntries(db, [1]);
}

/** @returns false when the process was killed */
async function build(networkId: string, killAt: number): Promise<boolean> {
  const program = pathOf('test/crash/buildLogs.ts');
  const child = spawn(process.execPath, [program, database().url, APP_SECRET, networkId, String(killAt)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = await new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  if (ended.code !== 0) expect(ended).toEqual({ code: null, signal: 'SIGKILL' });
  return ended.code === 0;
}

/** Keeps the heads that were readable by now, and checks that heads of one size have one root. */
async function keepHeads(heads: Map<string, SignedNote>): Promise<void> {
  const rows = await database().handle.db.select().from(transparencyHeads);
  for (const { log, size, checkpoint } of rows) {
    const note = parseCheckpoint(checkpoint);
    if (note === null) throw new Error(`${checkpoint} is no checkpoint`);
    const key = `${log} ${size}`;
    expect(note.root, key).toEqual(heads.get(key)?.root ?? note.root);
    heads.set(key, note);
  }
}
