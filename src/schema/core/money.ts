/**
 * Money: an amount of fiat money with its currency.
 */
import { builder } from './builder.ts';

interface Money {
  /** Exact, in units of the currency. */
  amount: string;
  /** ISO 4217. */
  currency: string;
}

export const MoneyRef = builder.objectRef<Money>('Money').implement({
  description: 'An amount of fiat money with its currency.',
  fields: (t) => ({
    amount: t.expose('amount', {
      type: 'Decimal',
      description: 'The exact amount, in units of the currency.',
    }),
    currency: t.expose('currency', { type: 'CurrencyCode', description: 'The currency.' }),
  }),
});

/** Money as an input. The descriptions of its uses state the maximum. */
export const MoneyInput = builder.inputType('MoneyInput', {
  description: 'An amount of fiat money with its currency.',
  fields: (t) => ({
    amount: t.field({
      type: 'Decimal',
      required: true,
      description: 'The exact amount, in units of the currency.',
    }),
    currency: t.field({ type: 'CurrencyCode', required: true, description: 'The currency.' }),
  }),
});
