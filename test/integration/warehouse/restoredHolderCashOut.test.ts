/**
 * A holder's cash-out in a copy of the database from before the deposit, with a network and a provider that
 * know how it ended: the operator sees the settlement contract's state, not a missing deposit.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startRampServer, type RampServer } from '../../../devnet/rampServer.ts';
import { openDatabase } from '../../../src/db/connection.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { receivePayoutHint } from '../../../src/resolvers/warehouse/offRamp/receivePayoutHint.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { depositInputOf, prepareDeposit } from '../../support/wallets/walletCashOuts.ts';
import { signAndSubmit } from '../../support/wallets/walletWorld.ts';
import { activeReceipt, decideReviewOf, makeDue, reaches } from '../../support/warehouse.ts';
import { readReviews } from '../../support/histories.ts';

let provider: RampServer;
let original: TestDatabase;
let copy: TestDatabase;
beforeAll(async () => {
  provider = await startRampServer();
  original = await createTestDatabase();
  await original.handle.close();
});
afterAll(async () => {
  await Promise.all([original.drop(), copy.drop()]);
  await provider.close();
});

type Instance = Platform & { network: EmbeddedNetwork };

/** Runs an instance on a database, and on the network stored in the original. */
async function on<T>(url: string, work: (instance: Instance) => Promise<T>): Promise<T> {
  const [handle, ofNetwork] = [url, original.url].map((at) =>
    openDatabase({ url: at, poolSize: 5, applicationName: 'an instance' }),
  );
  if (!handle || !ofNetwork) throw new Error('no database');
  const network = await embeddedNetworkOn(ofNetwork);
  const platform = await platformOn(handle, network, {
    ramp: {
      kind: 'http',
      name: 'ramp',
      url: provider.url,
      apiKey: 'key',
      callbackSecrets: [],
      requestsPerSecond: 1000,
    },
  });
  await platform.start();
  try {
    return await work({ ...platform, network });
  } finally {
    await platform.stop();
    await Promise.all([handle.close(), ofNetwork.close()]);
  }
}

it('is reviewed for what the settlement contract shows, and accepted', async () => {
  const holder = createEmbeddedHolder();
  const { session, act } = await on(original.url, async (instance) => {
    const receipt = await activeReceipt(instance, { farmerAddress: holder.address });
    const world = { platform: instance, network: instance.network };
    return prepareDeposit(world, holder, depositInputOf(receipt, holder));
  });
  copy = await createTestDatabase({ copyOf: original });
  await copy.handle.close();
  await on(original.url, async (instance) => {
    await signAndSubmit({ platform: instance }, holder, act);
    const { providerSessionId } = await reaches(instance, session.id, 'AWAITING_PAYOUT');
    const payout = provider.payouts.get(providerSessionId ?? '');
    if (payout) payout.status = 'settled';
    await receivePayoutHint(instance.dependencies, providerSessionId ?? '');
    await reaches(instance, session.id, 'SETTLED');
  });
  await on(copy.url, async (instance) => {
    const { dependencies } = instance;
    await makeDue(instance, session.id);
    await reaches(instance, session.id, 'NEEDS_REVIEW');
    expect(await readReviews(dependencies, session.id)).toMatchObject([
      {
        flaggedBecause: 'the settlement contract shows SETTLED of a deposit that this database does not know',
      },
    ]);
    expect(await decideReviewOf(instance, session.id, 'ACCEPT')).toMatchObject({ state: 'SETTLED' });
    expect((await reconcileAll(dependencies)).findings).toEqual([]);
  });
});
