/**
 * What caused an entry of a statement: a purchase, a retirement or a transfer.
 */
import { findPurchases } from '../../resolvers/carbon/purchase.ts';
import { findRetirementsByIds } from '../../resolvers/carbon/findRetirement.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
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
