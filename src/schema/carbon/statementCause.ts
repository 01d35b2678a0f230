/**
 * What caused an entry of a statement, a purchase, a retirement or a transfer, and what the entry says of it.
 */
import { findPurchases } from '../../resolvers/carbon/purchase.ts';
import { findRetirementsByIds } from '../../resolvers/carbon/findRetirement.ts';
import { priceOf, totalOf } from '../../resolvers/carbon/projectPrices.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import { MoneyRef } from '../core/money.ts';
import { StatementEntryRef } from './statement.ts';
import { creditTransferById, CreditTransferRef } from './creditTransfer.ts';
import { PurchaseRef } from './purchase.ts';
import { RetirementRef } from './retirement.ts';

const purchaseById = createBatch(findPurchases);
const retirementById = createBatch(findRetirementsByIds);

const StatementCause = builder.unionType('StatementCause', {
  description: "What changed a buyer's balance.",
  types: [PurchaseRef, RetirementRef, CreditTransferRef],
  resolveType: (cause) => {
    if ('fromBuyerId' in cause) return CreditTransferRef;
    return 'beneficiary' in cause ? RetirementRef : PurchaseRef;
  },
});

builder.objectField(StatementEntryRef, 'cause', (t) =>
  t.field({
    type: StatementCause,
    description: 'What caused it. Both entries of a retirement that was refused have the same.',
    resolve: async ({ kind, causeId }, _args, context) => {
      const causeById =
        kind === 'purchase' ? purchaseById : kind === 'credit_transfer' ? creditTransferById : retirementById;
      const cause = await causeById(context, causeId);
      if (cause === undefined) throw new Error(`${kind} ${causeId} of a statement has vanished`);
      return cause;
    },
  }),
);

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
