/**
 * Payout accounts: every combination of their fields is accepted, or refused by the name of the wrong one.
 */
import { describe, expect, it } from 'vitest';
import { DomainError } from '../../../../src/lib/errors.ts';
import { payoutAccountOf } from '../../../../src/schema/warehouse/payoutAccount.ts';

const VALUES = { provider: 'MTN', bankCode: 'KCBLKENX', accountName: 'Amina Otieno' };
const ACCOUNT_NUMBERS = { good: '254700123456', short: '254', foreign: '2547_00123456' };
const COMBINATIONS = [undefined, null, 'given'] as const;

const cases = (['MOBILE_MONEY', 'BANK'] as const).flatMap((type) =>
  COMBINATIONS.flatMap((provider) =>
    COMBINATIONS.flatMap((bankCode) =>
      COMBINATIONS.map((accountName) => ({ type, provider, bankCode, accountName })),
    ),
  ),
);

/** The first wrong field, by the rules in the schema's descriptions. */
function wrongFieldOf({ type, provider, bankCode, accountName }: (typeof cases)[number]): string | null {
  const has = {
    provider: provider === 'given',
    bankCode: bankCode === 'given',
    accountName: accountName === 'given',
  };
  if (type === 'MOBILE_MONEY') return !has.provider ? 'provider' : has.bankCode ? 'bankCode' : null;
  return has.provider ? 'provider' : !has.bankCode ? 'bankCode' : !has.accountName ? 'accountName' : null;
}

function fieldOfError(act: () => unknown): unknown {
  try {
    act();
    return null;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    expect(error.code).toBe('BAD_USER_INPUT');
    for (const value of [...Object.values(VALUES), ...Object.values(ACCOUNT_NUMBERS)]) {
      expect(error.message).not.toContain(`"${value}"`);
    }
    return error.details['field'];
  }
}

const inputOf = ({ type, ...fields }: (typeof cases)[number], accountNumber: string) => ({
  type,
  accountNumber,
  ...Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value === 'given' ? VALUES[name as keyof typeof VALUES] : value,
    ]),
  ),
});

describe('a payout account', () => {
  it.each(cases)('$type, provider $provider, bankCode $bankCode, accountName $accountName', (fields) => {
    const wrong = wrongFieldOf(fields);
    const field = fieldOfError(() => payoutAccountOf(inputOf(fields, ACCOUNT_NUMBERS.good)));
    expect(field).toBe(wrong === null ? null : `input.payoutAccount.${wrong}`);
    for (const accountNumber of [ACCOUNT_NUMBERS.short, ACCOUNT_NUMBERS.foreign]) {
      const first = fieldOfError(() => payoutAccountOf(inputOf(fields, accountNumber)));
      expect(first).toBe('input.payoutAccount.accountNumber');
    }
  });

  it('comes out in the form that providers take', () => {
    const accountNumber = ACCOUNT_NUMBERS.good;
    const { provider, bankCode, accountName } = VALUES;
    expect(payoutAccountOf({ type: 'MOBILE_MONEY', accountNumber, provider })).toEqual({
      type: 'mobile-money',
      accountNumber,
      provider,
    });
    expect(payoutAccountOf({ type: 'BANK', accountNumber, bankCode, accountName })).toEqual({
      type: 'bank',
      accountNumber,
      bankCode,
      accountName,
    });
  });
});
