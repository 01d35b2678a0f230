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
    from: t.field(fromTime('Booked')),
    until: t.field(untilTime('Booked')),
  }),
});

const cursors = transferCursors('purchases');

builder.objectField(BuyerAccountRef, 'purchases', (t) =>
  t.connection(
    {
      type: PurchaseRef,
      description:
        'What the buyer bought, newest first, a page at a time. Together with what else moved the balances, it is in the ' +
        '`statement`. It is no feed: a purchase may come in with a time a little before that of the newest one.',
      args: {
        filter: t.arg({ type: PurchaseFilterInput, description: 'Which purchases; all when omitted.' }),
      },
      resolve: ({ buyerId }, args, { dependencies }) =>
        pageOf(args, cursors, listPurchases(dependencies, buyerId, args.filter ?? {})),
    },
    ...listNames('Purchase'),
  ),
);
