/**
 * The stories of the product, told through its public API on a network as an application would live them: carbon
 * credits and warehouse receipts end to end, with the audit at the end.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tellCarbonStory } from '../../demo/carbon.ts';
import { createApiClient, type ApiClient } from '../../demo/client.ts';
import type { Narrator } from '../../demo/narrator.ts';
import { tellWarehouseStory } from '../../demo/warehouse.ts';
import { audit } from '../../src/audit/audit.ts';
import { watchRetirements } from '../../src/resolvers/watchRetirements.ts';
import { connectLedger } from '../harness/ledgers.ts';
import { startMarketplace, tokenOf, type Marketplace } from '../harness/marketplace.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import type { NetworkWorld } from './world.ts';

/** Stories go over many ledgers. */
const STORY_TIMEOUT_MS = 120_000;

export function describeStories(name: string, startWorld: () => Promise<NetworkWorld>): void {
  describe(`the whole product on ${name}`, () => {
    let world: NetworkWorld;
    let database: TestDatabase;
    let marketplace: Marketplace;
    let api: ApiClient;
    const told: string[] = [];
    beforeAll(async () => {
      world = await startWorld();
      database = await createTestDatabase({ poolSize: 20 });
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

    it(
      'tells the carbon story: issue, sell, retire, watch, agree',
      { timeout: STORY_TIMEOUT_MS },
      async () => {
        await tellCarbonStory(api, tell, tokenFor);
        expect(told).toContain('books and network agree');
      },
    );

    it(
      'tells the warehouse story: deposit, pay out, refund, expire',
      { timeout: STORY_TIMEOUT_MS },
      async () => {
        await tellWarehouseStory({ api, tell, tokenFor });
        expect(told.some((fact) => fact.startsWith('EXPIRED'))).toBe(true);
      },
    );

    it('leaves nothing under way, and every invariant holding', async () => {
      expect(await audit(marketplace.app.dependencies)).toMatchObject({
        findings: [],
        unsettledProjects: 0,
        unsettledReceipts: 0,
        projects: 1,
        receipts: 1,
      });
    });
  });
}

/** Remembers the facts alone. */
function silentNarrator(told: string[]): Narrator {
  return {
    chapter: () => {},
    step: (_title, work) => work(),
    fact: (_name, value) => void told.push(value),
    live: (text) => void told.push(text),
  };
}
