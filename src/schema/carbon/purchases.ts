/**
 * A buyer's purchases.
 */
import { listPurchases } from '../../resolvers/carbon/readBuyerAccount.ts';
import { builder } from '../core/builder.ts';
import { FILTER_RULE, PROJECT_TOKENS } from '../core/filters.ts';
import { listNames, pageOf } from '../core/paging.ts';
import { BuyerAccountRef } from './buyerAccount.ts';
import { PurchaseRef } from './purchase.ts';
import { transferCursors } from './statement.ts';
import { fromTime, untilTime } from '../core/time.ts';

const PurchaseFilterInput = builder.inputType('PurchaseFilter', {
  description: `A purchase ${FILTER_RULE}`,
  fields: (t) => ({
    tokenAddresses: t.field({ ...PROJECT_TOKENS, type: ['Address'] }),
    from: t.field(fromTime('purchases booked')),
    until: t.field(untilTime('purchases booked')),
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
      args: {
        filter: t.arg({
          type: PurchaseFilterInput,
          description: 'Filters the purchases. All are listed when omitted.',
        }),
      },
      resolve: ({ buyerId }, args, { dependencies }) =>
        pageOf(args, cursors, listPurchases(dependencies, buyerId, args.filter ?? {})),
    },
    ...listNames('Purchase'),
  ),
);
