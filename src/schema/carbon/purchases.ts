/**
 * A buyer's purchases.
 */
import { listPurchases } from '../../resolvers/carbon/readBuyerAccount.ts';
import { builder } from '../core/builder.ts';
import { FILTER_RULE, filterOf, PROJECT_TOKENS, within } from '../core/filters.ts';
import { listNames, pageOf } from '../core/paging.ts';
import { BuyerAccountRef } from './buyerAccount.ts';
import { PurchaseRef } from './purchase.ts';
import { transferCursors } from './statement.ts';

const PurchaseFilterInput = builder.inputType('PurchaseFilter', {
  description: `A purchase ${FILTER_RULE}`,
  fields: (t) => ({
    tokenAddresses: t.field({ ...PROJECT_TOKENS, type: ['Address'] }),
    ...within(t, 'purchases booked'),
  }),
});

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
