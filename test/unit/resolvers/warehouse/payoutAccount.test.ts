/**
 * A fingerprint tells payout accounts apart. Idempotency keys keep the fingerprint forever.
 */
import { expect, it } from 'vitest';
import { createPayoutAccounts } from '../../../../src/resolvers/warehouse/offRamp/payoutAccount.ts';
import { createSealer } from '../../../../src/lib/sealer.ts';

const { fingerprint } = createPayoutAccounts(createSealer(['a'.repeat(32)]), Buffer.alloc(32, 1));
const account = { type: 'mobile-money', accountNumber: '+254700000000', provider: 'M-Pesa' } as const;

it('takes a member without a value as one that is not there: a later one must not change what is remembered', () => {
  expect(fingerprint({ ...account, accountName: undefined })).toBe(fingerprint(account));
});

it('tells accounts apart', () => {
  const others = [
    { ...account, accountName: 'Wanjiru' },
    { ...account, accountNumber: '+254700000001' },
    { ...account, provider: 'Airtel' },
  ];
  expect(new Set([account, ...others].map(fingerprint)).size).toBe(4);
});
