/**
 * A failover to a standby without the newest commits: heads of the transparency logs that were signed or
 * shown are lost, and no other root is signed in their name.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openProject } from '../../../devnet/platform.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { reconcileLogs } from '../../support/reconciliation/reconcileLogs.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { parseCheckpoint } from '../../../src/transparency/checkpoint.ts';
import { LogDamaged, type OriginSettings } from '../../../src/transparency/logs.ts';
import { createPublishedLogs } from '../../../src/transparency/publishedLogs.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';
import { logsOn } from '../../support/reconciliation/logsOn.ts';

const TABLES = ['transparency_heads', 'transparency_tiles', 'transparency_checkpoints'];

let database: TestDatabase;
let platform: Platform;
let project: TokenizedProject;

beforeEach(async () => {
  database = await createTestDatabase();
  platform = await platformOn(database.handle, await embeddedNetworkOn(database.handle));
  await platform.start();
  project = await openProject(platform, 100n);
  // From here on only the test builds the logs.
  await platform.stop();
  const { db } = database.handle;
  for (const table of TABLES) await changePastRules(database, sql.raw(`DELETE FROM ${table}`));
  await logAll(instance());
  for (const table of TABLES) await db.execute(sql.raw(`CREATE TABLE kept_${table} AS TABLE ${table}`));
  await buy();
});
afterEach(() => database.drop());

const instance = (origin?: OriginSettings) => logsOn(database.handle.db, origin);

async function buy(): Promise<void> {
  const input = { buyerId: 'acme', tokenAddress: project.tokenAddress, amountCO2e: 1n };
  await purchase(platform.dependencies, 'acme', { ...input, idempotencyKey: randomUUID() });
}

/** Gives the new primary the logs from before the purchase. */
async function failOver(): Promise<void> {
  for (const table of TABLES) {
    await changePastRules(database, sql.raw(`DELETE FROM ${table}`));
    await changePastRules(database, sql.raw(`INSERT INTO ${table} TABLE kept_${table}`));
  }
}

const shownBy = (logs: ReturnType<typeof instance>) =>
  createPublishedLogs({ db: database.handle.db, logs })('transfers/checkpoint');

it('lets none grow that has signed, seen or shown a longer one', async () => {
  const [signer, seer, shower] = [instance(), instance(), instance()];
  await logAll(signer);
  await seer.findBehind();
  await shownBy(shower);
  await failOver();
  for (const logs of [signer, seer, shower]) {
    await expect(logs.build('transfers')).rejects.toThrow(LogDamaged);
    // The shown head is still an earlier head of the same log.
    await shownBy(logs);
    await expect(logs.build('transfers')).rejects.toThrow(/TRANSPARENCY_LOG_ORIGIN/);
  }
  const deps = { db: database.handle.db, logs: signer };
  const { findings } = await reconcileLogs(deps);
  expect(findings).toContainEqual({
    invariant: 'I15',
    message: expect.stringMatching(/of transfers has 1 leaves, and a head of 2 was signed/),
  });
});

it('lets none grow whose head of that size has another root', async () => {
  const signer = instance();
  await logAll(signer);
  await failOver();
  // Another process, without the lost head, logs another transfer in its place.
  await changePastRules(
    database,
    sql`UPDATE transfers SET created_at = created_at + interval '1 s' WHERE written_in = (SELECT max(written_in) FROM transfers)`,
  );
  await logAll(instance());
  await buy();
  await expect(signer.build('transfers')).rejects.toThrow(/another root/);
});

it('lets them grow in another name', async () => {
  const signer = instance();
  await logAll(signer);
  await failOver();
  await logAll(instance({ first: '', given: 'api.example/logs-2' }));
  await buy();
  await logAll(signer);
  const shown = parseCheckpoint(String((await shownBy(signer))?.body));
  expect(shown).toMatchObject({ origin: 'api.example/logs-2/transfers', size: 3 });
});
