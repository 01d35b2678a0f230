/**
 * offRampQuote: the payout of a cash-out, as the provider quotes it.
 */
import type { Quote } from '../../ramp/port.ts';
import { quoteOffRamp } from '../../resolvers/warehouse/quoteOffRamp.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { MoneyRef } from '../core/money.ts';
import { PayoutAccountTypeEnum } from './offRampEnums.ts';
import { TYPE_AT_PROVIDERS } from '../../resolvers/warehouse/offRamp/payoutAccount.ts';

export const OffRampQuoteRef = builder.objectRef<Quote>('OffRampQuote').implement({
  description:
    'What an off-ramp session would pay, in exact decimals. An off-ramp session freezes a quote of its own.',
  fields: (t) => ({
    tokenAmount: t.expose('tokenAmount', {
      type: 'Kilograms',
      description: 'The amount in whole kilograms.',
    }),
    tokenSymbol: t.exposeString('tokenSymbol', { description: "The tokens' symbol: WHR." }),
    payout: t.field({
      type: MoneyRef,
      description: 'What is paid out, after the fee.',
      resolve: ({ fiatAmount: amount, fiatCurrency: currency }) => ({ amount, currency }),
    }),
    fee: t.field({
      type: MoneyRef,
      description: 'What the provider keeps.',
      resolve: ({ fiatFee: amount, fiatCurrency: currency }) => ({ amount, currency }),
    }),
    feeBps: t.exposeInt('feeBps', {
      nullable: true,
      description:
        'The fee in basis points of the amount before it; null where the provider has no such rate.',
    }),
    exchangeRate: t.expose('exchangeRate', {
      type: 'Decimal',
      description: 'Tokens (kilograms) per one unit of the currency.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'UnixTime',
      description: 'When the quote expires, in Unix seconds: in a day at most.',
    }),
  }),
});

builder.queryField('offRampQuote', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      'Asks the ramp provider what kilograms of receipts would pay out. Errors: RAMP_REFUSED (a currency without a ' +
        'rate, or too little to pay out), RAMP_UNAVAILABLE.',
    ),
    type: OffRampQuoteRef,
    nullable: true,
    args: {
      tokenAmount: t.arg({ type: 'Kilograms', required: true, description: 'Whole kilograms.' }),
      fiatCurrency: t.arg({ type: 'CurrencyCode', required: true, description: 'ISO 4217, in upper case.' }),
      countryCode: t.arg({
        type: 'CountryCode',
        description:
          'The country of the payout account, and `payoutAccountType`: with them the quote is what a cash-out to such an ' +
          'account would pay, where the provider prices by them.',
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
