/**
 * receiptUpdated: a warehouse receipt as it changes.
 */
import { FOLLOWED_RECEIPTS, findReceiptById, type Receipt } from '../../resolvers/warehouse/findReceipt.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { UPDATES, updatesOf } from '../core/subjectUpdates.ts';
import { maySeeReceipt, ReceiptRef } from './receipt.ts';

const followed = {
  kind: FOLLOWED_RECEIPTS,
  find: findReceiptById,
  maySee: maySeeReceipt,
  noun: 'receipt',
};

builder.subscriptionField('receiptUpdated', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'warehouse', 'operator'],
      `A warehouse receipt. ${UPDATES}EXPIRED or REFUSED. NOT_FOUND when the caller may see none by that id.`,
    ),
    type: ReceiptRef,
    args: {
      id: t.arg.globalID({ for: ReceiptRef, required: true, description: 'The `id` of the receipt.' }),
    },
    subscribe: (_root, args, context) => updatesOf(followed, args, context),
    resolve: (receipt: Receipt) => receipt,
  }),
);
