/**
 * receiptUpdated: a warehouse receipt as it changes.
 */
import {
  findFollowedReceipt,
  FOLLOWED_RECEIPTS,
  type FollowedReceipt,
} from '../../resolvers/warehouse/followReceipt.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { UPDATES_UNTIL_FINAL, updatesOf } from '../core/updates.ts';
import { maySeePledged, ReceiptRef } from './receipt.ts';

const followed = {
  kind: FOLLOWED_RECEIPTS,
  find: findFollowedReceipt,
  maySee: maySeePledged,
  noun: 'receipt',
};

builder.subscriptionField('receiptUpdated', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'warehouse', 'lender', 'operator'],
      `A warehouse receipt, with its \`openPledge\` and what of it is left. ${UPDATES_UNTIL_FINAL}EXPIRED or REFUSED; its open pledge and what is ` +
        'left may change after that. For a lender it also ends when the pledge is released. NOT_FOUND when the caller may see none by that id.',
    ),
    type: ReceiptRef,
    args: {
      id: t.arg.globalID({ for: ReceiptRef, required: true, description: 'The `id` of the receipt.' }),
    },
    subscribe: (_root, args, context) => updatesOf<FollowedReceipt>(followed, args, context),
    resolve: (receipt: FollowedReceipt) => receipt,
  }),
);
