/**
 * The demo on one network, through the public API: carbon credits and warehouse receipts end to end, then a
 * reconciliation.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCarbonDemo } from '../../../demo/carbon.ts';
import { createApiClient, type ApiClient } from '../../../demo/client.ts';
import type { Narrator } from '../../../demo/narrator.ts';
import { runWarehouseDemo } from '../../../demo/warehouse.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { watchRetirements } from '../../../src/resolvers/operations/watchRetirements.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { startMarketplace, tokenOf, type Marketplace } from '../../support/http/marketplace.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import type { NetworkWorld } from '../../../devnet/world.ts';

/** A demo spans many ledgers. */
const DEMO_TIMEOUT_MS = 120_000;

export function describeDemo(name: string, startWorld: () => Promise<NetworkWorld>): void {
  describe(`the whole product on ${name}`, () => {
    let world: NetworkWorld;
    let database: TestDatabase;
    let marketplace: Marketplace;
    let api: ApiClient;
    const told: string[] = [];
    beforeAll(async () => {
      world = await startWorld();
      database = await createTestDatabase();
      const network = await connectLedger(world.ledger, database.handle);
      marketplace = await startMarketplace({
        database,
        withIndexer: world.indexerUrl === null,
        ...(world.ledger.family === 'embedded' ? {} : { network, indexerUrl: world.indexerUrl ?? '' }),
        clockControl: {
          advanceClock: async (seconds) => {
            await world.advanceClock(seconds);
            return (await network.status()).closedAt;
          },
        },
      });
      await watchRetirements(marketplace.app.dependencies);
      api = createApiClient(marketplace.url);
    });
    afterAll(async () => {
      await api.close();
      await marketplace.stop();
      await database.drop();
      await world.close();
    });

    const tell = silentNarrator(told);
    const tokenFor = (role: Parameters<typeof tokenOf>[0]['role'], subject: string = role) =>
      tokenOf({ role, subject });

    it('runs the carbon demo: issue, sell, retire, watch, agree', { timeout: DEMO_TIMEOUT_MS }, async () => {
      await runCarbonDemo(api, tell, tokenFor);
      expect(told).toContain('books and network agree');
    });

    it(
      'runs the warehouse demo: deposit, pay out, refund, expire',
      { timeout: DEMO_TIMEOUT_MS },
      async () => {
        await runWarehouseDemo({ api, tell, tokenFor, withExpiry: true });
        expect(told.some((fact) => fact.startsWith('EXPIRED'))).toBe(true);
      },
    );

    it('leaves nothing under way, and every invariant holding', async () => {
      expect(await reconcileAll(marketplace.app.dependencies)).toMatchObject({
        findings: [],
        unsettledProjects: 0,
        unsettledReceipts: 0,
        projects: 1,
        receipts: 1,
      });
    });
  });
}

/** Records only the facts and the live events. */
function silentNarrator(told: string[]): Narrator {
  return {
    chapter: () => {},
    step: (_title, work) => work(),
    fact: (_name, value) => void told.push(value),
    live: (text) => void told.push(text),
  };
}
