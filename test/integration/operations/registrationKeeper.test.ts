/**
 * A registration that vanished at the indexer is noticed, logged and made again, once, if there was one.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { isNull } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { indexerRegistrations, retirementRecords } from '../../../src/db/tables/index.ts';
import { generateSecretKey } from '../../../src/lib/strkey.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { createRegistrationKeeper } from '../../../src/resolvers/operations/registrationKeeper.ts';
import { createSealer } from '../../../src/lib/sealer.ts';
import { receiveDelivery } from '../../../src/resolvers/carbon/receiveDelivery.ts';
import { createProject } from '../../../src/resolvers/carbon/createProject.ts';
import { watchRetirements } from '../../../src/resolvers/operations/watchRetirements.ts';
import { storeRegistration } from '../../support/indexerRegistrations.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { projectInput, silentLog } from '../../../devnet/platform.ts';

let market: Marketplace;
const warnings: string[] = [];
const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
  warn: (_: unknown, message: string) => void warnings.push(message),
});

beforeAll(async () => {
  market = await startMarketplace({ log });
});
afterAll(() => market.stop());
afterEach(() => void (warnings.length = 0));

const indexer = () => market.app.dependencies.indexer;
const keeper = () => {
  const { dependencies } = market.app;
  return createRegistrationKeeper(dependencies, { log: dependencies.log, random: () => 0.5 });
};
const listed = async () => (await indexer().listWebhooks()).map(({ id }) => id);
const live = async () => {
  const rows = await market.database.handle.db
    .select()
    .from(indexerRegistrations)
    .where(isNull(indexerRegistrations.replacedAt));
  return rows.map(({ webhookId }) => webhookId);
};

describe('a registration at the indexer', () => {
  it('is not made where an operator never asked for one', async () => {
    await keeper().poll();
    expect(await listed()).toEqual([]);
  });

  it('is left as it is while the indexer knows it', async () => {
    const { webhookId } = await watchRetirements(market.app.dependencies);
    await keeper().poll();
    expect(await listed()).toEqual([webhookId]);
    expect(warnings).toEqual([]);
  });

  it('is left as the only one: what an interrupted call has left beside it is removed', async () => {
    const [before] = await listed();
    await indexer().registerWebhook(market.app.dependencies.retirementsHookUrl, ['*']);
    const { id: other } = await indexer().registerWebhook('http://127.0.0.1:9/of-another-client', ['*']);
    await keeper().poll();
    expect(new Set(await listed())).toEqual(new Set([before, other]));
    await indexer().deleteWebhook(other);
  });

  it('is made again when it has vanished, once, however many instances notice', async () => {
    const [before = ''] = await listed();
    await indexer().deleteWebhook(before);
    await Promise.all([keeper().poll(), keeper().poll(), keeper().poll()]);
    const after = await listed();
    expect(after).toHaveLength(1);
    expect(after).not.toContain(before);
    expect(await live()).toEqual(after);
    expect(warnings).toContain('the registration has vanished at the indexer: registering again');

    // Deliveries arrive again, signed with the new secret.
    const { dependencies } = market.app;
    const project = await createProject(dependencies, 'developer', projectInput());
    const tokenAddress = project.tokenAddress ?? '';
    const stranger = market.network.createSigner(generateSecretKey(randomBytes));
    await market.network.transfer(tokenAddress, stranger.address, toBaseUnits(1n));
    const amount = toBaseUnits(1n);
    const txHash = await stranger.retire({ tokenAddress, amount, beneficiary: 'Stranger', note: '' });
    await expect
      .poll(() => market.database.handle.db.select().from(retirementRecords))
      .toMatchObject([{ beneficiary: 'Stranger', txHash }]);
  });

  it('is made again when its secret does not open, which keeps no other secret from verifying', async () => {
    // A restored backup whose secrets were sealed under a lost key.
    const sealer = createSealer(['another sealing secret for tests alone']);
    const restored = { ...market.app.dependencies, sealer };
    await watchRetirements(market.app.dependencies);
    const [before = ''] = await listed();
    await storeRegistration(restored, 'a secret', { isReplaced: true });
    const signature = createHmac('sha256', 'a secret').update('{}').digest('hex');
    const delivery = { rawBody: Buffer.from('{}'), signature: `sha256=${signature}` };
    expect(await receiveDelivery(restored, delivery)).toBe('not-a-retirement');

    await createRegistrationKeeper(restored, { log, random: () => 0.5 }).poll();
    const after = await listed();
    expect(after).toHaveLength(1);
    expect(after).not.toContain(before);
    expect(await live()).toEqual(after);
    expect(warnings).toEqual([expect.stringContaining('does not open with SEALING_SECRETS')]);
    await createRegistrationKeeper(restored, { log, random: () => 0.5 }).poll();
    expect(await listed()).toEqual(after);
    await watchRetirements(market.app.dependencies);
  });

  it('that was replaced is believed for a while, also after many attempts that had no answer', async () => {
    const { dependencies } = market.app;
    await storeRegistration(dependencies, 'the secret before', { isReplaced: true });
    const away = { ...dependencies.indexer, registerWebhook: () => Promise.reject(new Error('away')) };
    for (let i = 0; i < 10; i++)
      await expect(watchRetirements({ ...dependencies, indexer: away })).rejects.toThrow('away');
    const signature = createHmac('sha256', 'the secret before').update('{}').digest('hex');
    const delivery = { rawBody: Buffer.from('{}'), signature: `sha256=${signature}` };
    expect(await receiveDelivery(dependencies, delivery)).toBe('not-a-retirement');
  });

  /** A keeper whose questions to the indexer are answered by `answer`. */
  const keeperOf = (answer: (asked: number) => Promise<unknown>) => {
    const { dependencies } = market.app;
    let asked = 0;
    const listWebhooks = async () => {
      await answer(++asked);
      return indexer().listWebhooks();
    };
    const deps = { ...dependencies, indexer: { ...indexer(), listWebhooks } };
    return createRegistrationKeeper(deps, { log, random, pollIntervalMs: 1 });
  };
  /** Asked for each wait before a look. */
  const random = vi.fn<() => number>(() => 0.5);

  it('is reported once for each time that the indexer is away', async () => {
    const away = new Set([1, 2, 4, 5]);
    let isOver = false;
    const looking = keeperOf(async (asked) => {
      isOver = asked > 5;
      if (away.has(asked)) throw new Error('away');
    });
    looking.start();
    await expect.poll(() => isOver).toBe(true);
    await looking.stop();
    const line = 'the registration with the indexer could not be checked';
    expect(warnings).toEqual([line, line]);
  });

  it('is looked at no more after the end, which comes after a look under way', async () => {
    const order: string[] = [];
    let answer = () => {};
    const looking = keeperOf(async () => {
      order.push('asked');
      await new Promise<void>((resolve) => (answer = resolve));
    });
    looking.start();
    await expect.poll(() => order).toEqual(['asked']);
    const stopped = looking.stop().then(() => order.push('stopped'));
    await setImmediate();
    expect(order).toEqual(['asked']);
    const waits = random.mock.calls.length;
    answer();
    await stopped;
    expect(random).toHaveBeenCalledTimes(waits);
  });

  it('is left to an operator when it is for another address', async () => {
    const { dependencies } = market.app;
    const [before = ''] = await listed();
    await indexer().deleteWebhook(before);
    const moved = { ...dependencies, retirementsHookUrl: 'http://127.0.0.1:9/elsewhere' };
    await createRegistrationKeeper(moved, { log: moved.log, random: () => 0.5 }).poll();
    expect(await listed()).toEqual([]);
  });
});

describe('a running server', () => {
  it('looks by itself, again and again', async () => {
    const own = await startMarketplace({ registrationPollMs: 50 });
    try {
      const { dependencies } = own.app;
      const { webhookId } = await watchRetirements(dependencies);
      const seen = new Set([webhookId]);
      for (let round = 2; round <= 3; round++) {
        for (const { id } of await dependencies.indexer.listWebhooks()) {
          await dependencies.indexer.deleteWebhook(id);
        }
        const others = async () => {
          const ids = (await dependencies.indexer.listWebhooks()).map(({ id }) => id);
          return ids.filter((id) => !seen.has(id));
        };
        await expect.poll(others).toHaveLength(1);
        for (const id of await others()) seen.add(id);
        expect(seen.size).toBe(round);
      }
    } finally {
      await own.stop();
    }
  });
});
