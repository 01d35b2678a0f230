/**
 * Stops PostgreSQL during work, as `pg_ctl stop -m immediate` does, and starts it again: the running
 * instances stay up, reconnect, and finish everything exactly once.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reconcileAll } from '../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../src/startup/compose.ts';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { purchase } from '../../src/resolvers/carbon/purchase.ts';
import { retire, type RetireInput } from '../../src/resolvers/carbon/retire.ts';
import { openProject } from '../../devnet/platform.ts';
import { embeddedNetworkOn, platformOn } from '../support/platform.ts';
import { startPrivatePostgres, type PrivatePostgres } from '../../devnet/privatePostgres.ts';

const RETIREMENTS = 24;
/** Enough tries for a restart and the reconnecting after it. */
const MAX_TRIES = 60;
const RETRY_MS = 500;

let server: PrivatePostgres;
const handles: DatabaseHandle[] = [];
const platforms: Platform[] = [];

beforeAll(async () => {
  server = await startPrivatePostgres();
  for (const name of ['first', 'second']) {
    const handle = openDatabase({ url: server.url, poolSize: 8, applicationName: name });
    handles.push(handle);
    platforms.push(await platformOn(handle, await embeddedNetworkOn(handle)));
  }
  for (const platform of platforms) await platform.start();
});
afterAll(async () => {
  for (const platform of platforms) await platform.stop();
  for (const handle of handles) await handle.close();
  await server.stop();
});

const platformAt = (i: number) => platforms[i % platforms.length] as Platform;

/** Retires as a client that repeats a failed request under the same key. */
async function retireUntilAnswered(platform: Platform, input: RetireInput): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      return (await retire(platform.dependencies, 'acme', input)).state;
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

it('loses nothing and does nothing twice', async () => {
  const project = await openProject(platformAt(0), 1000n);
  const { tokenAddress } = project;
  await purchase(platformAt(0).dependencies, 'acme', {
    buyerId: 'acme',
    tokenAddress,
    amountCO2e: 1000n,
    idempotencyKey: randomUUID(),
  });
  const works = Array.from({ length: RETIREMENTS }, (_, i) =>
    retireUntilAnswered(platformAt(i), {
      buyerId: 'acme',
      buyerName: 'Acme Ltd',
      tokenAddress,
      amountCO2e: 1n,
      note: `#${i}`,
      idempotencyKey: randomUUID(),
    }),
  );
  const answered = Promise.all(works);
  // Some retirements have landed, some have not.
  await Promise.race(works);
  await server.crash();
  await server.start();
  expect(new Set(await answered)).toEqual(new Set(['RETIRED']));

  const { dependencies } = platformAt(1);
  expect(await dependencies.network.carbonTotals(tokenAddress)).toEqual({
    totalSupply: toBaseUnits(1000n - BigInt(RETIREMENTS)),
    totalRetired: toBaseUnits(BigInt(RETIREMENTS)),
    totalRetirements: RETIREMENTS,
  });
  expect(await reconcileAll(dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
});
