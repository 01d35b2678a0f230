/**
 * purchase: sells unsold credits to a buyer. Purchase, and a buyer's purchases.
 */
import type { DryRun } from '../../resolvers/carbon/dryRun.ts';
import { findPurchase, purchase, dryRunPurchase, type Purchase } from '../../resolvers/carbon/purchase.ts';
import { priceOf, totalOf } from '../../resolvers/carbon/projectPrices.ts';
import { tonnes } from '../core/amounts.ts';
import { forBuyerOrOperator, OWN_BUYER_ID } from '../core/access.ts';
import { maySeeBuyer, subjectOf } from '../core/caller.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { visible } from '../core/visible.ts';
import { builder } from '../core/builder.ts';
import { DRY_RUN, DRY_RUN_ANSWER, IDEMPOTENCY_KEY, inputOf } from '../core/inputs.ts';
import { MoneyInput, MoneyRef } from '../core/money.ts';
import { DryRunRef } from './dryRun.ts';
import { ofProject } from './project.ts';
import { subject } from '../core/text.ts';
import { moment } from '../core/time.ts';
import { PROJECT_TOKEN } from '../core/tokenAddress.ts';
import { listPurchases } from '../../resolvers/carbon/readBuyerAccount.ts';
import { filterInput, filterOf, PROJECT_TOKENS, within } from '../core/filters.ts';
import { listNames, pageOf } from '../core/paging.ts';
import { BuyerAccountRef, transferCursors } from './buyerAccount.ts';

export const PurchaseRef = builder.objectRef<Purchase>('Purchase');

builder.node(PurchaseRef, {
  ...ownedBy<Purchase>(({ buyerId: owner }) => [owner]),
  description: 'Credits that a buyer bought. Visible to the buyer and to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: visible(findPurchase, (caller, { buyerId }) => maySeeBuyer(caller, buyerId)),
  fields: (t) => ({
    buyerId: t.exposeString('buyerId', { description: 'The subject of the buyer.' }),
    project: t.field(ofProject('The project of the credits.')),
    tonnes: t.expose('amountTonnes', tonnes('The purchased amount')),
    pricePerTonne: t.field({
      type: MoneyRef,
      nullable: true,
      description:
        'The price of a tonne that was in force when the purchase was booked; later prices do not change it. Null ' +
        'when no price was set.',
      resolve: (purchase) => priceOf(purchase),
    }),
    total: t.field({
      type: MoneyRef,
      nullable: true,
      description:
        'The exact total: `pricePerTonne` times `tonnes`. Null without a price. Payment is made outside this platform.',
      resolve: (purchase) => totalOf(priceOf(purchase), purchase.amountTonnes),
    }),
    createdAt: t.expose('createdAt', moment('The time the purchase was booked')),
  }),
});

const PurchaseInput = builder.inputType('PurchaseInput', {
  description: 'The credits to buy, and the buyer.',
  fields: (t) => ({
    buyerId: t.string({ validate: { schema: subject }, description: OWN_BUYER_ID }),
    tokenAddress: t.field(PROJECT_TOKEN),
    amountCO2e: t.field({ ...tonnes('The amount to buy'), required: true }),
    expectedPricePerTonne: t.field({
      type: MoneyInput,
      description:
        'The price of a tonne that the buyer expects. When another price or no price is in force, nothing is booked ' +
        '(PRICE_CHANGED). When omitted, the purchase is booked at the price in force.',
    }),
    dryRun: t.boolean(DRY_RUN),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

interface Answer {
  purchase: Purchase | null;
  dryRun: DryRun | null;
}

const PurchasePayload = builder.objectRef<Answer>('PurchasePayload').implement({
  description: 'The booked purchase, or the result of a dry run.',
  fields: (t) => ({
    purchase: t.expose('purchase', {
      type: PurchaseRef,
      nullable: true,
      description: 'The purchase. Null for a dry run.',
    }),
    dryRun: t.expose('dryRun', { type: DryRunRef, nullable: true, description: DRY_RUN_ANSWER }),
  }),
});

builder.mutationField('purchase', (t) =>
  t.field({
    ...forBuyerOrOperator(
      (args: { input: { buyerId?: string | null | undefined } }) => args.input.buyerId,
      "Sells unsold credits to a buyer, only in the platform's books and without a network transaction. Errors: " +
        'NOT_FOUND, INSUFFICIENT_SUPPLY, PRICE_CHANGED, IDEMPOTENCY_CONFLICT.',
    ),
    type: PurchasePayload,
    args: inputOf(PurchaseInput, 'The credits to buy, and the buyer.'),
    recordedInput: {
      targets: ['buyerId', 'tokenAddress'],
      shown: ['amountCO2e', 'expectedPricePerTonne', 'dryRun', 'idempotencyKey'],
      isEntryWithEffect: true,
    },
    resolve: async (_root, { input }, { caller, dependencies, entry }): Promise<Answer> => {
      const { dryRun, buyerId: named, ...rest } = input;
      const request = { buyerId: named ?? subjectOf(caller), ...rest };
      if (dryRun) return { purchase: null, dryRun: await dryRunPurchase(dependencies, request) };
      return { purchase: await purchase(dependencies, subjectOf(caller), request, entry), dryRun: null };
    },
  }),
);

const PurchaseFilterInput = filterInput('PurchaseFilter', 'A purchase', (t) => ({
  tokenAddresses: t.field({ ...PROJECT_TOKENS, type: ['Address'] }),
  ...within(t, 'purchases booked'),
}));

const cursors = transferCursors('purchases');

builder.objectField(BuyerAccountRef, 'purchases', (t) =>
  t.connection(
    {
      type: PurchaseRef,
      description:
        "A paginated list of the buyer's purchases, newest first. `statement` lists purchases together with all " +
        'other changes of the balances. Not a feed: a purchase may be added with a time slightly before that of the ' +
        'newest purchase.',
      args: filterOf(PurchaseFilterInput, 'Filters the purchases. All are listed when omitted.'),
      resolve: ({ buyerId }, args, { dependencies }) =>
        pageOf(args, cursors, listPurchases(dependencies, buyerId, args.filter ?? {})),
    },
    ...listNames('Purchase'),
  ),
);
