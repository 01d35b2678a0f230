/**
 * A burn by custody without a retirement, beside an equal burn with one: the results before and after that
 * retirement is settled.
 */
import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { prepare } from '../../../devnet/calls.ts';
import { attempts } from '../../../src/db/tables/index.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { reconcileAndKeep } from '../../../src/reconciliation/lastReconciliation.ts';
import { findRetirement } from '../../../src/resolvers/carbon/findRetirement.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';
import { holding, retirement } from '../../support/holding.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let isCut = false;

beforeAll(async () => {
  ({ database, network, platform } = await startFaultyPlatform((method) =>
    isCut && method === 'broadcast' ? 'unreachable' : null,
  ));
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

async function run(isFull: boolean) {
  const { verdicts, since } = await reconcileAndKeep(platform.dependencies, { isFull });
  expect(since === null).toBe(isFull);
  const found = verdicts.find(({ invariant }) => invariant === 'I4');
  return { verdict: found?.verdict, findings: found?.findings.map(({ message }) => message) };
}

it('is found by the incremental run after the settlement, though the one before took it for the record of that one', async () => {
  const { dependencies } = platform;
  const tokenAddress = await holding(platform, 100n);
  const input = { ...retirement(tokenAddress, 5n), note: randomUUID() };
  expect(await run(true)).toEqual({ verdict: 'HOLDS', findings: [] });

  isCut = true;
  const settled = retire(dependencies, 'acme', input);
  const countOpen = () => dependencies.db.$count(attempts, eq(attempts.state, 'OPEN'));
  await expect.poll(countOpen, { timeout: 20_000 }).toBe(1);
  const { buyerName: beneficiary, note } = input;
  const call = { kind: 'retire', tokenAddress, amount: toBaseUnits(5n), beneficiary, note } as const;
  await network.broadcast((await prepare(network, call)).signedBytes);
  // The run's snapshot is later than the record, so the next run does not see the record as a change.
  await dependencies.feedFiller.round();
  expect(await run(false)).toEqual({ verdict: 'NOT_PROVED', findings: [] });

  isCut = false;
  const { id } = await settled;
  await expect
    .poll(() => findRetirement(dependencies, id), { timeout: 30_000 })
    .toMatchObject({ state: 'RETIRED', recordIndex: 1 });
  expect(await run(false)).toEqual({
    verdict: 'BROKEN',
    findings: [expect.stringMatching(/custody's retirement record 0 belongs to no retirement/)],
  });
}, 90_000);
