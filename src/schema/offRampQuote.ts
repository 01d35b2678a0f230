/**
 * offRampQuote: what cashing out would pay.
 */
import { unixSeconds } from '../clock.ts';
import type { Quote } from '../ramp/port.ts';
import { quoteOffRamp } from '../resolvers/quoteOffRamp.ts';
import { forRoles } from './access.ts';
import { builder } from './platform.ts';
import { currencyCode } from './text.ts';

const OffRampQuoteRef = builder.objectRef<Quote>('OffRampQuote').implement({
  description: 'What a cash-out would pay, in exact decimals. A cash-out freezes a quote of its own.',
  fields: (t) => ({
    tokenAmount: t.expose('tokenAmount', { type: 'Kilograms', description: 'For so many whole kilograms.' }),
    tokenSymbol: t.exposeString('tokenSymbol', { description: "The tokens' symbol: WHR." }),
    fiatCurrency: t.exposeString('fiatCurrency', { description: 'ISO 4217.' }),
    fiatAmount: t.expose('fiatAmount', {
      type: 'Decimal',
      description: 'What is paid out, after the fee, in units of the currency.',
    }),
    feeFiat: t.expose('feeFiat', { type: 'Decimal', description: 'The fee, in units of the currency.' }),
    feeBps: t.exposeInt('feeBps', { description: 'The fee in basis points of the amount before it.' }),
    exchangeRate: t.expose('exchangeRate', {
      type: 'Decimal',
      description: 'Tokens (kilograms) per one unit of the currency.',
    }),
    expiresAt: t.field({
      type: 'UnixTime',
      description: 'Until when the provider keeps to it, in Unix seconds.',
      resolve: ({ expiresAt }) => unixSeconds(expiresAt),
    }),
  }),
});

builder.queryField('offRampQuote', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      'Asks the ramp provider what kilograms of receipts would pay out. Errors: RAMP_REJECTED (a currency without a ' +
        'rate, or too little to pay out), RAMP_UNAVAILABLE.',
    ),
    type: OffRampQuoteRef,
    args: {
      tokenAmount: t.arg({ type: 'Kilograms', required: true, description: 'Whole kilograms.' }),
      fiatCurrency: t.arg.string({
        required: true,
        validate: { schema: currencyCode },
        description: 'ISO 4217, in capitals.',
      }),
    },
    resolve: (_root, args, { dependencies }) => quoteOffRamp(dependencies, args),
  }),
);
