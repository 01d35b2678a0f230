/**
 * What caused an entry of a statement: a purchase, a retirement or a transfer.
 */
import { findPurchases } from '../../resolvers/carbon/findPurchase.ts';
import { findRetirementsByIds } from '../../resolvers/carbon/findRetirements.ts';
import type { Dependencies } from '../../resolvers/core/dependencies.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import type { Context } from '../core/context.ts';
import { StatementEntryRef } from './statement.ts';
import { creditTransferById, CreditTransferRef } from './creditTransfer.ts';
import { PurchaseRef } from './purchase.ts';
import { RetirementRef } from './retirement.ts';

type PlatformContext = Context<Dependencies>;

const purchaseById = createBatch(({ dependencies }: PlatformContext, ids: readonly string[]) =>
  findPurchases(dependencies, ids),
);
const retirementById = createBatch(({ dependencies }: PlatformContext, ids: readonly string[]) =>
  findRetirementsByIds(dependencies, ids),
);

const StatementReference = builder.unionType('StatementReference', {
  description: "What changed a buyer's balance.",
  types: [PurchaseRef, RetirementRef, CreditTransferRef],
  resolveType: (reference) => {
    if ('fromBuyerId' in reference) return CreditTransferRef;
    return 'beneficiary' in reference ? RetirementRef : PurchaseRef;
  },
});

builder.objectField(StatementEntryRef, 'reference', (t) =>
  t.field({
    type: StatementReference,
    description: 'What caused it. Both entries of a retirement that was refused have the same.',
    resolve: async ({ kind, referenceId }, _args, context) => {
      const referenceOf =
        kind === 'purchase' ? purchaseById : kind === 'credit_transfer' ? creditTransferById : retirementById;
      const reference = await referenceOf(context, referenceId);
      if (reference === undefined) throw new Error(`${kind} ${referenceId} of a statement has vanished`);
      return reference;
    },
  }),
);
