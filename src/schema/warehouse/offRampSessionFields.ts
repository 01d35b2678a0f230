/**
 * The input that every off-ramp session takes, for both depositors.
 */
import type { InputFieldBuilder } from '@pothos/core';
import { PayoutAccountInput } from './payoutAccount.ts';
import type { ContractTypes } from '../core/builder.ts';
import { RECEIPT_TOKEN } from '../core/tokenAddress.ts';

export function offRampSessionFields(t: InputFieldBuilder<ContractTypes, 'InputObject'>) {
  return {
    receiptTokenAddress: t.field(RECEIPT_TOKEN),
    tokenAmount: t.field({
      type: 'Kilograms',
      required: true,
      description: 'The amount to cash out, in whole kilograms.',
    }),
    fiatCurrency: t.field({
      type: 'CurrencyCode',
      required: true,
      description: 'The currency of the payout: ISO 4217, in upper case.',
    }),
    countryCode: t.field({
      type: 'CountryCode',
      required: true,
      description: 'The country of the payout account: ISO 3166-1 alpha-2, in upper case.',
    }),
    payoutAccount: t.field({
      type: PayoutAccountInput,
      required: true,
      description: 'The account to pay out to.',
    }),
  };
}
