/**
 * What keeps signing halted: what the platform itself contradicts, and what is not known for want of an answer.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openProject } from '../../../devnet/platform.ts';
import { NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { withFaults, type FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let project: TokenizedProject;
let faults: FaultPlan = () => null;
let over: Partial<LedgerNetwork> = {};

beforeAll(async () => {
  database = await createTestDatabase();
  network = await embeddedNetworkOn(database.handle);
  const faulty = withFaults(network, (...call) => faults(...call));
  const changed = new Proxy(faulty, {
    get: (of, name) => Reflect.get(Reflect.has(over, name) ? over : of, name) as unknown,
  });
  platform = await platformOn(database.handle, changed);
  await platform.start();
  project = await openProject(platform, 100n);
  const { tokenAddress } = project;
  const input = { buyerId: 'acme', tokenAddress, amountCO2e: 10n, idempotencyKey: randomUUID() };
  await purchase(platform.dependencies, 'acme', input);
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

async function contradictions(by: Partial<LedgerNetwork> = {}): Promise<string[]> {
  over = by;
  try {
    return await platform.dependencies.submission.reconcile();
  } finally {
    over = {};
  }
}

const withBalance = (more: bigint): Partial<LedgerNetwork> => ({
  balanceOf: async (token, holder) => (await network.balanceOf(token, holder)) + more,
});

it('is less in custody than the books say, and no gift', async () => {
  expect(await contradictions()).toEqual([]);
  expect(await contradictions(withBalance(1n))).toEqual([]);
  expect(await contradictions(withBalance(-1n))).toEqual([
    expect.stringMatching(/^I2: .* custody holds 99999999999999999999 base units/),
  ]);
});

it('is what the network gives no answer about', async () => {
  const carbonTotals = () => Promise.reject(new NetworkUnavailable('refused'));
  expect(await contradictions({ carbonTotals })).toEqual(
    ['I2', 'I3', 'I4', 'I10'].map((invariant) => `${invariant}: ${project.assetId}: refused`),
  );
  const status = () => Promise.reject(new NetworkUnavailable('refused'));
  await expect(contradictions({ status })).rejects.toThrow('refused');
});

it('is a token that this database does not know', async () => {
  const tokensDeployedSince = async () => [project.tokenAddress, 'ANOTHER'];
  expect(await contradictions({ tokensDeployedSince })).toEqual([
    expect.stringContaining('custody has deployed the token ANOTHER'),
  ]);
});

it('is no retirement under review whose burn has not landed', async () => {
  faults = (method) =>
    method === 'broadcast' ? 'unreachable' : method === 'outcome' ? 'history-gone' : null;
  const { tokenAddress } = project;
  const input = { buyerId: 'acme', buyerName: 'Acme Ltd', tokenAddress, amountCO2e: 5n, note: '' };
  const { state } = await retire(platform.dependencies, 'acme', { ...input, idempotencyKey: randomUUID() });
  faults = () => null;
  expect(state).toBe('NEEDS_REVIEW');
  expect(await contradictions()).toEqual([]);
});
