/**
 * offRampQuote: the payout of a cash-out, as the provider quotes it.
 */
import type { ObjectFieldBuilder } from '@pothos/core';
import type { Quote } from '../../ramp/port.ts';
import { quoteOffRamp } from '../../resolvers/warehouse/quoteOffRamp.ts';
import { kilograms } from '../core/amounts.ts';
import { forRoles } from '../core/access.ts';
import { builder, type ContractTypes } from '../core/builder.ts';
import { MoneyRef } from '../core/money.ts';
import { PayoutAccountTypeEnum } from './offRampEnums.ts';
import { TYPE_AT_PROVIDERS } from '../../resolvers/warehouse/offRamp/payoutAccount.ts';

/** The fields of a quote that a session freezes. @param origin the end of each description's sentence */
export function quotedFields<
  Quoted extends Pick<Quote, 'fiatAmount' | 'fiatFee' | 'fiatCurrency' | 'exchangeRate'>,
>(t: ObjectFieldBuilder<ContractTypes, Quoted>, origin: string) {
  return {
    payout: t.field({
      type: MoneyRef,
      description: `The amount paid out, after the fee${origin}.`,
      resolve: ({ fiatAmount: amount, fiatCurrency: currency }) => ({ amount, currency }),
    }),
    fee: t.field({
      type: MoneyRef,
      description: `The fee that the provider keeps${origin}.`,
      resolve: ({ fiatFee: amount, fiatCurrency: currency }) => ({ amount, currency }),
    }),
    exchangeRate: t.field({
      type: 'Decimal',
      description: `The number of tokens (kilograms) per unit of the currency${origin}.`,
      resolve: ({ exchangeRate }) => exchangeRate,
    }),
  };
}

export const OffRampQuoteRef = builder.objectRef<Quote>('OffRampQuote').implement({
  description:
    'A quote for the payout of an off-ramp session, in exact decimals. Each off-ramp session freezes its own quote.',
  fields: (t) => ({
    tokenAmount: t.expose('tokenAmount', kilograms('The quoted amount')),
    tokenSymbol: t.exposeString('tokenSymbol', { description: 'The symbol of the tokens: WHR.' }),
    ...quotedFields(t, ''),
    feeBps: t.exposeInt('feeBps', {
      nullable: true,
      description:
        'The fee in basis points of the amount before the fee. Null when the provider has no such rate.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'UnixTime',
      description: 'The time the quote expires, in Unix seconds: at most one day from now.',
    }),
  }),
});

builder.queryField('offRampQuote', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      "The ramp provider's quote for the payout of kilograms of receipts. Errors: RAMP_REFUSED (a currency " +
        'without a rate, or an amount that is too small to pay out), RAMP_UNAVAILABLE.',
    ),
    type: OffRampQuoteRef,
    args: {
      tokenAmount: t.arg({ ...kilograms('The amount to cash out'), required: true }),
      fiatCurrency: t.arg({
        type: 'CurrencyCode',
        required: true,
        description: 'The currency of the payout: ISO 4217, in upper case.',
      }),
      countryCode: t.arg({
        type: 'CountryCode',
        description:
          'The country of the payout account. Together with `payoutAccountType`, it makes the quote that of a ' +
          "cash-out to such an account, where the provider's prices depend on them.",
      }),
      payoutAccountType: t.arg({
        type: PayoutAccountTypeEnum,
        description: 'The type of the payout account.',
      }),
    },
    resolve: (_root, { countryCode, payoutAccountType: type, ...asked }, { dependencies }) =>
      quoteOffRamp(dependencies, {
        ...asked,
        countryCode: countryCode ?? undefined,
        payoutAccountType: type == null ? undefined : TYPE_AT_PROVIDERS[type],
      }),
  }),
);
