/**
 * The signed heads of the transparency logs that are kept, so that a reconciliation compares a log with its
 * past: one a day, however often the log grows.
 */
import { randomUUID } from 'node:crypto';
import { asc, eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openProject } from '../../../devnet/platform.ts';
import { transparencyCheckpoints } from '../../../src/db/tables/index.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';

let database: TestDatabase;
let platform: Platform;
let project: TokenizedProject;

beforeAll(async () => {
  database = await createTestDatabase();
  platform = await platformOn(database.handle, await embeddedNetworkOn(database.handle));
  await platform.start();
  project = await openProject(platform, 100n);
  // From here on only the test builds the logs.
  await platform.stop();
});
afterAll(() => database.drop());

/** Lets the log of transfers grow. @returns the sizes whose heads are kept */
async function grow(): Promise<number[]> {
  const input = { buyerId: 'acme', tokenAddress: project.tokenAddress, amountCO2e: 1n };
  await purchase(platform.dependencies, 'acme', { ...input, idempotencyKey: randomUUID() });
  await logAll(platform.dependencies.logs);
  const { log, size } = transparencyCheckpoints;
  const kept = await database.handle.db
    .select({ size })
    .from(transparencyCheckpoints)
    .where(eq(log, 'transfers'))
    .orderBy(asc(size));
  return kept.map((row) => row.size);
}

it('are one a day', async () => {
  const first = await grow();
  expect(first).toHaveLength(1);
  expect(await grow()).toEqual(first);
  await changePastRules(
    database,
    sql`UPDATE transparency_checkpoints SET created_at = created_at - interval '1 day'`,
  );
  const both = await grow();
  expect(both).toHaveLength(2);
  expect(await grow()).toEqual(both);
});
