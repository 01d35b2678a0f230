/**
 * What a statement's entry says of the purchase or transfer that caused it.
 */
import { findCreditTransfers } from '../../resolvers/carbon/findCreditTransfer.ts';
import { findPurchases } from '../../resolvers/carbon/findPurchase.ts';
import { priceOf } from '../../resolvers/carbon/projectPrices.ts';
import type { StatementEntry } from '../../resolvers/carbon/readBuyerAccount.ts';
import type { Dependencies } from '../../resolvers/core/dependencies.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import type { Context } from '../core/context.ts';
import { MoneyRef } from '../core/money.ts';
import { totalOf } from './price.ts';
import { StatementEntryRef } from './buyerAccount.ts';

const creditTransferOf = createBatch(({ dependencies }: Context<Dependencies>, ids: readonly string[]) =>
  findCreditTransfers(dependencies, ids),
);

const purchaseOf = createBatch(({ dependencies }: Context<Dependencies>, ids: readonly string[]) =>
  findPurchases(dependencies, ids),
);

/** Null for an entry that is no purchase, and where no price was set. */
async function priceOfEntry(context: Context<Dependencies>, { kind, referenceId }: StatementEntry) {
  if (kind !== 'purchase') return null;
  const purchase = await purchaseOf(context, referenceId);
  if (!purchase) throw new Error(`purchase ${referenceId} has vanished`);
  return priceOf(purchase);
}

builder.objectFields(StatementEntryRef, (t) => ({
  counterpartyId: t.string({
    nullable: true,
    description: 'Of a transfer, the other buyer; null for other kinds.',
    resolve: async ({ kind, referenceId, amountTonnes }, _args, context) => {
      if (kind !== 'credit_transfer') return null;
      const transfer = await creditTransferOf(context, referenceId);
      if (!transfer) throw new Error(`credit transfer ${referenceId} has vanished`);
      return amountTonnes < 0n ? transfer.toBuyerId : transfer.fromBuyerId;
    },
  }),
  pricePerTonne: t.field({
    type: MoneyRef,
    nullable: true,
    description:
      'Of a purchase, the price of a tonne at that time; null where none was set, and for other kinds.',
    resolve: (entry, _args, context) => priceOfEntry(context, entry),
  }),
  total: t.field({
    type: MoneyRef,
    nullable: true,
    description: 'Of a purchase, what it cost in all; null where no price was set, and for other kinds.',
    resolve: async (entry, _args, context) => totalOf(await priceOfEntry(context, entry), entry.amountTonnes),
  }),
}));
