/**
 * A provider that pays another amount than its quote: nothing is deposited for it, and no deposit goes to the
 * treasury automatically.
 */
import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import type { RampAnswer, RampProvider } from '../../../src/ramp/port.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { cashOut } from '../../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { type OffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { prepareCashOutDeposit } from '../../../src/resolvers/wallets/prepareCashOutDeposit.ts';
import { submitSigned } from '../../../src/resolvers/wallets/submitSigned.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { changePastRules, type TestDatabase } from '../../support/database/database.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { depositInputOf } from '../../support/wallets/walletCashOuts.ts';
import {
  activeReceipt,
  cashOutInput,
  decideReviewOf,
  depositedCashOut,
  farmer,
  providerSays,
  reaches,
} from '../../support/warehouse.ts';
import { readReviews } from '../../support/histories.ts';
import { depositInUse } from '../../support/depositInUse.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let ramp: RampProvider;

beforeAll(async () => {
  ({ database, network, platform } = await startFaultyPlatform(() => null));
  ({ ramp } = platform.dependencies);
});
afterEach(() => {
  platform.dependencies.ramp = ramp;
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

const OTHER = { currency: 'KES', amount: '4000.00' };
const both = ({ fiatAmount, fiatCurrency }: Pick<OffRampSession, 'fiatAmount' | 'fiatCurrency'>) =>
  `the quote is ${fiatAmount} ${fiatCurrency}, its provider pays 4000.00 KES`;

const paysOther = (id: string) =>
  changePastRules(
    database,
    sql`UPDATE manual_ramp_sessions SET fiat_amount = 4000.00 WHERE reference = ${id}`,
  );
const differencesOf = async (id: string) =>
  (await reconcileAll(platform.dependencies)).findings
    .map(({ message }) => message)
    .filter((text) => text.includes(id));
const reasonOf = async (id: string) => (await readReviews(platform.dependencies, id)).at(-1)?.flaggedBecause;

describe('while it opens the payout', () => {
  async function cashOutAt(over: Partial<RampProvider>): Promise<OffRampSession> {
    const receipt = await activeReceipt(platform);
    platform.dependencies.ramp = {
      ...ramp,
      openSession: async (asked) => ({ ...(await ramp.openSession(asked)), fiat: OTHER }),
      ...over,
    };
    return cashOut(platform.dependencies, farmer, cashOutInput(receipt));
  }

  it('has the payout closed before anything is deposited', async () => {
    const refused = await cashOutAt({}).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(DomainError);
    const { code, message, details } = refused as DomainError;
    const session = await reaches(platform, String(details['offRampSessionId']), 'CLOSED');
    expect([code, message]).toEqual(['RAMP_REFUSED', expect.stringContaining(both(session))]);
    expect(session).toMatchObject({ providerStatus: 'failed', depositedAt: null });
    expect(await depositInUse(network, session.providerSessionId)).toBeNull();
    // The provider shows the other amount from then on.
    await paysOther(session.id);
    expect(await differencesOf(session.id)).toEqual([]);
  });

  it('leaves what it has paid already to an operator', async () => {
    const paid = async (): Promise<RampAnswer> => ({ status: 'settled', fiat: OTHER });
    const { id } = await cashOutAt({ closeSession: paid, getStatus: paid });
    const session = await reaches(platform, id, 'NEEDS_REVIEW');
    expect(await reasonOf(id)).toBe(both(session));
    expect(await depositInUse(network, session.providerSessionId)).toBeNull();
    // The operator has it paid all the same, so custody deposits what it owes.
    await decideReviewOf(platform, id, 'RETRY');
    await reaches(platform, id, 'SETTLED');
  });
});

describe('once the tokens are deposited', () => {
  async function paidOtherwise(): Promise<OffRampSession> {
    const { id, providerSessionId } = await depositedCashOut(platform);
    await paysOther(id);
    await providerSays(platform, providerSessionId, 'settled');
    return reaches(platform, id, 'NEEDS_REVIEW');
  }

  it.each([
    ['CONFIRM', 'SETTLED'],
    ['REFUND', 'REFUNDED'],
    ['RETRY', 'SETTLED'],
  ] as const)('leaves them where they are until an operator decides to %s', async (decision, end) => {
    const session = await paidOtherwise();
    expect(await reasonOf(session.id)).toBe(both(session));
    expect(await depositInUse(network, session.providerSessionId)).toMatchObject({
      status: 'PENDING',
    });
    expect(await differencesOf(session.id)).toEqual([expect.stringContaining(both(session))]);
    await decideReviewOf(platform, session.id, decision);
    expect(await reaches(platform, session.id, end)).toMatchObject({ providerStatus: 'settled' });
    // The decision settles this difference, and hides no later one.
    expect(await differencesOf(session.id)).toEqual([]);
  });
});

it('asks about the amount also when an operator has decided that the holder is to deposit what was paid before', async () => {
  const holder = createEmbeddedHolder();
  const receipt = await activeReceipt(platform, { farmerAddress: holder.address });
  const { session, act } = await prepareCashOutDeposit(
    platform.dependencies,
    farmer,
    depositInputOf(receipt, holder),
  );
  const { id, providerSessionId } = session;
  await paysOther(id);
  await providerSays(platform, providerSessionId ?? '', 'settled');
  await reaches(platform, id, 'NEEDS_REVIEW');
  expect(await reasonOf(id)).toBe('the provider says "settled", but the holder has deposited nothing');
  await decideReviewOf(platform, id, 'RETRY');
  if (act === null) throw new Error('nothing to sign');
  await submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
  await reaches(platform, id, 'NEEDS_REVIEW', 'SETTLED');
  expect(await reasonOf(id)).toBe(both(session));
  expect(await depositInUse(network, providerSessionId)).toMatchObject({ status: 'PENDING' });
  await decideReviewOf(platform, id, 'CONFIRM');
  await reaches(platform, id, 'SETTLED');
});
