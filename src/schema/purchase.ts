/**
 * purchase: unsold credits become a buyer's.
 */
import { unixSeconds } from '../clock.ts';
import { findPurchase } from '../resolvers/findPurchase.ts';
import { purchase } from '../resolvers/purchase.ts';
import type { Purchase } from '../resolvers/purchase.ts';
import { forBuyerOrOperator } from './access.ts';
import { maySeeBuyer, subjectOf } from './caller.ts';
import { IDEMPOTENCY_KEY } from './idempotency.ts';
import { builder } from './platform.ts';
import { projectOf, ProjectRef } from './project.ts';
import { address, buyerId, idempotencyKey } from './text.ts';

const PurchaseRef = builder.objectRef<Purchase>('Purchase');

builder.node(PurchaseRef, {
  description: "Credits that a buyer bought. Seen by the buyer's and operators' tokens.",
  id: { resolve: ({ id }) => id },
  loadOne: async (id: string, { caller, dependencies }) => {
    const found = await findPurchase(dependencies, id);
    return found !== null && maySeeBuyer(caller, found.buyerId) ? found : null;
  },
  fields: (t) => ({
    buyerId: t.exposeString('buyerId', { description: 'Whose the credits became.' }),
    project: t.field({
      type: ProjectRef,
      description: 'The project whose credits they are.',
      resolve: ({ projectId }, _args, context) => projectOf(context, projectId),
    }),
    tonnes: t.expose('amountTonnes', { type: 'Tonnes', description: 'Whole tonnes CO2e.' }),
    createdAt: t.field({
      type: 'UnixTime',
      description: 'When it was booked, in Unix seconds.',
      resolve: ({ createdAt }) => unixSeconds(createdAt),
    }),
  }),
});

const PurchaseInput = builder.inputType('PurchaseInput', {
  description: 'What a buyer buys.',
  fields: (t) => ({
    buyerId: t.string({
      required: true,
      validate: { schema: buyerId },
      description: "The buyer: the subject of the buyer's token.",
    }),
    tokenAddress: t.string({
      required: true,
      validate: { schema: address },
      description: "The address of the project's token.",
    }),
    amountCO2e: t.field({ type: 'Tonnes', required: true, description: 'Whole tonnes CO2e.' }),
    idempotencyKey: t.string({
      required: true,
      validate: { schema: idempotencyKey },
      description: IDEMPOTENCY_KEY,
    }),
  }),
});

const PurchasePayload = builder.objectRef<Purchase>('PurchasePayload').implement({
  description: 'The purchase, booked.',
  fields: (t) => ({
    purchase: t.field({ type: PurchaseRef, description: 'The purchase.', resolve: (booked) => booked }),
  }),
});

builder.mutationField('purchase', (t) =>
  t.field({
    ...forBuyerOrOperator(
      (args: { input: { buyerId: string } }) => args.input.buyerId,
      "Sells unsold credits to a buyer, in the platform's books alone: nothing happens on the network. Errors: " +
        'NOT_FOUND, INSUFFICIENT_SUPPLY, IDEMPOTENCY_CONFLICT.',
    ),
    type: PurchasePayload,
    args: { input: t.arg({ type: PurchaseInput, required: true, description: 'What is bought.' }) },
    resolve: (_root, { input }, { caller, dependencies }) => purchase(dependencies, subjectOf(caller), input),
  }),
);
