/**
 * The demo when every mutation's wait ends long before the network is done, as on a chain with slow finality.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCarbonDemo } from '../../../demo/carbon.ts';
import { createApiClient, type ApiClient } from '../../../demo/client.ts';
import type { Narrator } from '../../../demo/narrator.ts';
import { runWarehouseDemo } from '../../../demo/warehouse.ts';
import { readOpenWork } from '../../../src/resolvers/operations/overdueWork.ts';
import { watchRetirements } from '../../../src/resolvers/operations/watchRetirements.ts';
import { startMarketplace, tokenOf, type Marketplace } from '../../support/http/marketplace.ts';

let marketplace: Marketplace;
let api: ApiClient;
const facts = new Map<string, string>();
const tell: Narrator = {
  chapter: () => {},
  step: (_title, work) => work(),
  fact: (name, value) => void facts.set(name, value),
  live: () => {},
};
const tokenFor = (role: Parameters<typeof tokenOf>[0]['role'], subject: string = role) =>
  tokenOf({ role, subject });

beforeAll(async () => {
  marketplace = await startMarketplace({ mutationWaitMs: 1 });
  await watchRetirements(marketplace.app.dependencies);
  api = createApiClient(marketplace.url);
});
afterAll(async () => {
  await api.close();
  await marketplace.stop();
});

it('waits by id, and runs the carbon demo to its end', async () => {
  await runCarbonDemo(api, tell, tokenFor);
  expect(facts.get('reconciliation')).toBe('books and network agree');
  for (const fact of ['token', 'deployed by', 'burned by'])
    expect(facts.get(fact), fact).toMatch(/^\w{20,}$/);
});

it('leaves the network at its time unless expiry is asked for', async () => {
  const before = (await marketplace.network.status()).closedAt;
  await runWarehouseDemo({ api, tell, tokenFor, withExpiry: false });
  expect(facts.get('at provider')).toContain('FAILED');
  const passedSeconds = (await marketplace.network.status()).closedAt - before;
  expect(passedSeconds).toBeLessThan(24n * 3600n);
});

it('runs the warehouse demo to its end, and measures no negative delay afterwards', async () => {
  await runWarehouseDemo({ api, tell, tokenFor, withExpiry: true });
  expect(facts.get('at provider')).toContain('FAILED');
  expect(facts.get('receipt')).toMatch(/^EXPIRED, marked by \w{20,}$/);
  // The retirement is dated half a year ahead of the database.
  await runCarbonDemo(api, tell, tokenFor);
  const { feedDelaySeconds } = await readOpenWork(marketplace.app.dependencies.db);
  expect(feedDelaySeconds).toBe(0);
});
