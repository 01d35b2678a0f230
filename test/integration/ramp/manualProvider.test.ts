/**
 * The manual provider on its table: one session of a reference, under an id that can't be guessed.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createManualProvider } from '../../../src/ramp/manual/manualProvider.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

function provider() {
  const prices = { exchangeRates: { KES: '0.02' }, feeBps: 150, quoteSeconds: 900 };
  return createManualProvider({ ...prices, db: database.handle.db, clock: systemClock, random: randomBytes });
}

const PAYOUT = {
  countryCode: 'KE',
  payoutAccount: { type: 'bank', accountNumber: '1', bankCode: '01', accountName: 'A. Farmer' },
} as const;

it('opens one session of a reference, also when two instances open it at once', async () => {
  const { openSession, quote, findSessionByReference, getStatus } = provider();
  const reference = '01a20831-9c50-7168-8a8a-755f73607426';
  const request = {
    ...PAYOUT,
    reference,
    quote: await quote({ tokenAmount: 100n, tokenSymbol: 'WHR', fiatCurrency: 'KES' }),
  };
  expect(await findSessionByReference(reference)).toBeNull();
  const [first, second] = await Promise.all([openSession(request), openSession(request)]);
  const status = { status: 'pending', fiat: { currency: 'KES', amount: '4925.00' } };
  expect(first).toEqual({ sessionId: expect.stringMatching(/^manual_[\w-]{32}$/) as string, ...status });
  expect([second, await findSessionByReference(reference)]).toEqual([first, first]);
  expect(await getStatus(first.sessionId)).toEqual(status);
});

it('refuses to say anything of a session that it does not have', async () => {
  const { getStatus, closeSession, setStatus } = provider();
  await expect(getStatus('manual_x')).rejects.toMatchObject({ code: 'RAMP_REFUSED' });
  await expect(closeSession('manual_x')).rejects.toMatchObject({ code: 'RAMP_REFUSED' });
  const change = { status: 'settled', setBy: 'operator-1' } as const;
  await expect(setStatus('manual_x', change)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
