/**
 * Another instance finishes the work of a killed instance within seconds. Work that an instance still does is
 * left to it, however long it takes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { eq, sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Platform } from '../../src/startup/compose.ts';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import { submissions } from '../../src/db/tables/index.ts';
import { retire } from '../../src/resolvers/carbon/retire.ts';
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts';
import { connectLedger, embeddedLedger } from '../../devnet/ledgers.ts';
import { holding, retirement } from '../support/holding.ts';
import { platformOn } from '../support/platform.ts';
import { instancesOn } from './instances.ts';

/** The time that the product promises. */
const TAKE_OVER_MS = 3_000;
/** Additional time for an instance's start and the step itself on a loaded machine. */
const SLACK_MS = 9_000;

let database: TestDatabase;
const handles: DatabaseHandle[] = [];
const platforms: Platform[] = [];
const instances = instancesOn(() => database);

beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  for (const platform of platforms.splice(0)) await platform.stop();
  for (const handle of handles.splice(0)) await handle.close();
  await database.drop();
});

async function openInstance(crashPoint = async () => {}): Promise<Platform> {
  const handle = openDatabase({ url: database.url, poolSize: 3, applicationName: 'instance' });
  handles.push(handle);
  const platform = await platformOn(handle, await connectLedger(embeddedLedger, handle), { crashPoint });
  platforms.push(platform);
  return platform;
}

/** Returns a retirement of credits that an instance, which has ended, bought. */
async function retireInput() {
  const tokenAddress = await holding(await instances.start(1), 100n);
  await instances.stop();
  return retirement(tokenAddress, 30n);
}

async function burn() {
  const [row] = await database.handle.db
    .select({
      state: submissions.state,
      leftMs: sql<number>`extract(epoch FROM ${submissions.dueAt} - clock_timestamp())::float8 * 1000`,
      nowMs: sql<number>`extract(epoch FROM clock_timestamp())::float8 * 1000`,
    })
    .from(submissions)
    .where(eq(submissions.kind, 'retire'));
  if (!row) throw new Error('there is no burn');
  return row;
}

it.each(['attempt-signed', 'attempt-committed', 'broadcast-sent', 'settlement-uncommitted'] as const)(
  'what is killed at %s is taken over within seconds',
  async (killAt) => {
    const input = await retireInput();
    await instances.crash({ killAt, occurrence: 1, request: { kind: 'retire', input } });
    const atCrash = await burn();
    expect(atCrash).toMatchObject({ state: 'PENDING' });
    expect(atCrash.leftMs).toBeLessThan(TAKE_OVER_MS);
    const other = await openInstance();
    await other.start();
    while ((await burn()).state === 'PENDING') await delay(50);
    const done = await burn();
    expect(done.state).toBe('SUCCEEDED');
    expect(done.nowMs - atCrash.nowMs).toBeLessThan(TAKE_OVER_MS + SLACK_MS);
  },
);

// A machine that stalls for longer than a lease lets the lease lapse, which is allowed; such a run is
// repeated.
it('what its owner still works on is not taken over', { retry: 2 }, async () => {
  const input = await retireInput();
  let goOn: () => void = () => {};
  let passedByOwner = 0;
  let passedByOther = 0;
  const owner = await openInstance(async () => {
    passedByOwner += 1;
    if (passedByOwner === 1) await new Promise<void>((resolve) => (goOn = resolve));
  });
  const other = await openInstance(async () => {
    passedByOther += 1;
  });
  await owner.start();
  const retired = retire(owner.dependencies, 'acme', input);
  // A repeated run ends before this promise does.
  retired.catch(() => {});
  while (passedByOwner === 0) await delay(20);
  await other.start();
  // As long as three leases.
  for (let looks = 0; looks < 40; looks++) {
    expect(passedByOther).toBe(0);
    await delay(200);
  }
  goOn();
  // Once the transaction is broadcast, any instance may ask for its outcome.
  expect(await retired).toMatchObject({ state: 'RETIRED' });
});
