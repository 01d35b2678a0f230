/**
 * What every cash-out is asked for, whoever holds the tokens.
 */
import type { InputFieldBuilder } from '@pothos/core';
import { PayoutAccountInput } from './payoutAccount.ts';
import type { builder } from './platform.ts';
import { address, countryCode, currencyCode } from './text.ts';

type Types = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never;

export function cashOutFields(t: InputFieldBuilder<Types, 'InputObject'>) {
  return {
    receiptTokenAddress: t.string({
      required: true,
      validate: { schema: address },
      description: "The address of the receipt's token.",
    }),
    tokenAmount: t.field({ type: 'Kilograms', required: true, description: 'Whole kilograms.' }),
    fiatCurrency: t.string({
      required: true,
      validate: { schema: currencyCode },
      description: 'ISO 4217, in capitals.',
    }),
    countryCode: t.string({
      required: true,
      validate: { schema: countryCode },
      description: 'Of the payout account: ISO 3166-1 alpha-2, in capitals.',
    }),
    payoutAccount: t.field({
      type: PayoutAccountInput,
      required: true,
      description: 'Where the fiat is paid to.',
    }),
  };
}
