/**
 * Many receipts that expire in one night, on a chain that takes a few transactions at a time: calls that
 * clients wait for, such as a cash-out's deposit, are not signed after all of the expiries.
 */
import { asc, eq, inArray } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { attempts, submissions } from '../../../src/db/tables/index.ts';
import { findRun, requestRun } from '../../../src/jobs/expiryRuns.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { STORAGE_SECONDS } from '../../../src/resolvers/warehouse/createDeposit.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { platformOn } from '../../support/platform.ts';
import { EVENTUALLY } from '../../support/wallets/walletWorld.ts';
import { activeReceipt, cashOutInput, farmer, providerSays, reaches } from '../../support/warehouse.ts';

const SLOTS = 2;
const DUE = 12;

let world: EvmWorld;
let database: TestDatabase;
let platform: Platform;
beforeAll(async () => {
  world = await startEvmWorld();
  database = await createTestDatabase();
  const network = await connectLedger({ ...world.ledger, maxOpenPerAccount: SLOTS }, database.handle);
  platform = await platformOn(database.handle, network, { mutationWaitMs: 40_000 });
  await platform.start();
});
afterAll(async () => {
  const report = await reconcileAll(platform.dependencies);
  await platform.stop();
  await database.drop();
  await world.close();
  expect(report.findings).toEqual([]);
});

const ofKind = (kind: 'markExpired' | 'setAllowance') => eq(submissions.kind, kind);
const countOpenAttempts = () => database.handle.db.$count(attempts, eq(attempts.state, 'OPEN'));

it('leave slots to the deposit of a cash-out that begins meanwhile', async () => {
  const { dependencies } = platform;
  await Promise.all(Array.from({ length: DUE }, () => activeReceipt(platform)));
  await world.advanceClock(Number(STORAGE_SECONDS) + 1);
  const fresh = await activeReceipt(platform);

  await world.node.rpc('evm_setAutomine', [false]);
  const run = await requestRun(dependencies, { trigger: 'MANUAL', night: null, requestedBy: 'a test' });
  await expect.poll(countOpenAttempts, EVENTUALLY).toBe(SLOTS);
  const session = await cashOut({ ...dependencies, mutationWaitMs: 0 }, farmer, cashOutInput(fresh));
  await reaches(platform, session.id, 'DEPOSITING');
  expect(await database.handle.db.$count(submissions, ofKind('setAllowance'))).toBe(1);
  await world.node.rpc('evm_setAutomine', [true]);
  await world.node.rpc('evm_mine', []);

  const deposited = await reaches(platform, session.id, 'AWAITING_PAYOUT');
  const isOver = async () => (await findRun(dependencies, run?.id ?? ''))?.endedAt;
  await expect.poll(isOver, EVENTUALLY).toBeInstanceOf(Date);
  const signed = await database.handle.db
    .select({ kind: submissions.kind })
    .from(submissions)
    .innerJoin(attempts, eq(attempts.submissionId, submissions.id))
    .where(inArray(submissions.kind, ['markExpired', 'setAllowance', 'depositOffRamp']))
    .orderBy(asc(attempts.createdAt));
  const kinds = signed.map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'markExpired')).toHaveLength(DUE);
  expect(kinds.indexOf('depositOffRamp')).toBeLessThan(kinds.lastIndexOf('markExpired'));

  await providerSays(platform, deposited.providerSessionId ?? '', 'settled');
  await reaches(platform, session.id, 'SETTLED');
});
