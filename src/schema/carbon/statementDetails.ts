/**
 * What a statement's entry says of the purchase or transfer that caused it.
 */
import { priceOf } from '../../resolvers/carbon/projectPrices.ts';
import { builder } from '../core/builder.ts';
import { MoneyRef } from '../core/money.ts';
import { creditTransferById } from './creditTransfer.ts';
import { totalOf } from './price.ts';
import { StatementEntryRef } from './statement.ts';

builder.objectFields(StatementEntryRef, (t) => ({
  counterpartyId: t.string({
    nullable: true,
    description: 'Of a transfer, the other buyer; null for other kinds.',
    resolve: async ({ kind, causeId, amountTonnes }, _args, context) => {
      if (kind !== 'credit_transfer') return null;
      const transfer = await creditTransferById(context, causeId);
      if (!transfer) throw new Error(`credit transfer ${causeId} has vanished`);
      return amountTonnes < 0n ? transfer.toBuyerId : transfer.fromBuyerId;
    },
  }),
  pricePerTonne: t.field({
    type: MoneyRef,
    nullable: true,
    description:
      'Of a purchase, the price of a tonne at that time; null where none was set, and for other kinds.',
    resolve: (entry) => priceOf(entry),
  }),
  total: t.field({
    type: MoneyRef,
    nullable: true,
    description: 'Of a purchase, what it cost in all; null where no price was set, and for other kinds.',
    resolve: (entry) => totalOf(priceOf(entry), entry.amountTonnes),
  }),
}));
