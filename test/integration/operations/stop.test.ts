/**
 * The end of a process: no work begins while the work under way ends.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { createProject } from '../../../src/resolvers/carbon/createProject.ts';
import { findProjectById } from '../../../src/resolvers/carbon/findProject.ts';
import { openProject, projectInput } from '../../../devnet/platform.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { developer, mutate, projectInput as projectInputOf } from '../../support/http/creditTrade.ts';
import { startMarketplace } from '../../support/http/marketplace.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';

afterEach(() => void vi.useRealTimers());

it('is told to the workers before a reconciliation under way has ended', async () => {
  const database = await createTestDatabase();
  const network = await embeddedNetworkOn(database.handle);
  let isSlow = false;
  let isAsked = false;
  let answer = () => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const slow = {
    ...network,
    carbonTotals: async (tokenAddress: string) => {
      isAsked = isSlow;
      if (isSlow) await answered;
      return network.carbonTotals(tokenAddress);
    },
  };
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const platform = await platformOn(database.handle, slow);
  await platform.start();
  await openProject(platform, 10n);
  isSlow = true;
  vi.advanceTimersByTime(60_000);
  await expect.poll(() => isAsked).toBe(true);

  const stopped = platform.stop();
  const deps = { ...platform.dependencies, mutationWaitMs: 0 };
  const { id } = await createProject(deps, 'developer', projectInput());
  // Far longer than a running worker takes to deploy the token.
  await delay(1_000);
  expect(await findProjectById(deps, id)).toMatchObject({ state: 'DEPLOYING', tokenAddress: null });
  answer();
  await stopped;
  await database.drop();
});

it('answers mutations that wait for the network with the state reached, and writes their outcomes', async () => {
  const database = await createTestDatabase();
  const { sql } = database.handle;
  const draft = () => Promise.reject(new Error('the network is away'));
  const market = await startMarketplace({
    database,
    withIndexer: false,
    wrapNetwork: (network) => ({ ...network, draft }),
  });
  const field = ['createProject', 'CreateProjectInput', 'project { state }'] as const;
  const answer = mutate(market, field, projectInputOf(), developer);
  await expect.poll(async () => (await sql`SELECT 1 FROM projects`).length).toBe(1);
  await market.stop();
  expect(await answer).toMatchObject({
    errors: [],
    data: { createProject: { project: { state: 'DEPLOYING' } } },
  });
  expect(await sql`SELECT outcome FROM audit_entries`).toEqual([{ outcome: 'OK' }]);
  await database.drop();
});
