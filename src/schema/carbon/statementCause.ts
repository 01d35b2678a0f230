/**
 * The cause of a statement's entry (a purchase, a retirement or a transfer), and the entry's fields about it.
 */
import { findPurchases } from '../../resolvers/carbon/purchase.ts';
import { findCreditTransfers } from '../../resolvers/carbon/transferCredits.ts';
import { findRetirementsByIds } from '../../resolvers/carbon/findRetirement.ts';
import { priceOf, totalOf } from '../../resolvers/carbon/projectPrices.ts';
import { createRequiredBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import { MoneyRef } from '../core/money.ts';
import { StatementEntryRef } from './statement.ts';
import { CreditTransferRef } from './creditTransfer.ts';
import { PurchaseRef } from './purchase.ts';
import { RetirementRef } from './retirement.ts';

const purchaseOf = createRequiredBatch('purchase', findPurchases);
const retirementOf = createRequiredBatch('retirement', findRetirementsByIds);
const creditTransferOf = createRequiredBatch('credit transfer', findCreditTransfers);

const StatementCause = builder.unionType('StatementCause', {
  description: "The cause of a change of a buyer's balance.",
  types: [PurchaseRef, RetirementRef, CreditTransferRef],
  resolveType: (cause) => {
    if ('fromBuyerId' in cause) return CreditTransferRef;
    return 'beneficiary' in cause ? RetirementRef : PurchaseRef;
  },
});

builder.objectField(StatementEntryRef, 'cause', (t) =>
  t.field({
    type: StatementCause,
    description: 'The cause of the entry. Both entries of a refused retirement have the same cause.',
    resolve: ({ kind, causeId }, _args, context) => {
      if (kind === 'purchase') return purchaseOf(context, causeId);
      return (kind === 'credit_transfer' ? creditTransferOf : retirementOf)(context, causeId);
    },
  }),
);

builder.objectFields(StatementEntryRef, (t) => ({
  counterpartyId: t.string({
    nullable: true,
    description: 'The other buyer of a transfer. Null for other kinds.',
    resolve: async ({ kind, causeId, amountTonnes }, _args, context) => {
      if (kind !== 'credit_transfer') return null;
      const transfer = await creditTransferOf(context, causeId);
      return amountTonnes < 0n ? transfer.toBuyerId : transfer.fromBuyerId;
    },
  }),
  pricePerTonne: t.field({
    type: MoneyRef,
    nullable: true,
    description:
      'The price of a tonne at the time of a purchase. Null when no price was set, and for other kinds.',
    resolve: (entry) => priceOf(entry),
  }),
  total: t.field({
    type: MoneyRef,
    nullable: true,
    description: 'The total price of a purchase. Null when no price was set, and for other kinds.',
    resolve: (entry) => totalOf(priceOf(entry), entry.amountTonnes),
  }),
}));
