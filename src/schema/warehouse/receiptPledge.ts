/**
 * ReceiptPledge: a lender's claim to a receipt. The open one is the receipt's `openPledge`.
 */
import { findPledge, listPledges, type ReceiptPledge } from '../../resolvers/warehouse/findPledge.ts';
import { findReceiptById } from '../../resolvers/warehouse/findReceipt.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { builder } from '../core/builder.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { asSeen, isLenderOf, openPledgeByReceipt, maySeeReceipt, ReceiptRef, receiptOf } from './receipt.ts';
import { moment, momentOrNull } from '../core/time.ts';

export const ReceiptPledgeRef = builder.objectRef<ReceiptPledge>('ReceiptPledge');

builder.node(ReceiptPledgeRef, {
  ...ownedBy<ReceiptPledge>(({ lenderId, pledgedBy }) => [lenderId, pledgedBy]),
  description:
    'A pledge of a receipt to a lender. While the pledge is open, the receipt can be neither cashed out nor ' +
    "pledged again. Visible to its lender, to the receipt's farmer and warehouse, and to operators.",
  id: { resolve: ({ id }) => id },
  loadOne: async (id: string, { caller, dependencies }) => {
    const pledge = await findPledge(dependencies, id);
    if (pledge === null || isLenderOf(caller, pledge)) return pledge;
    const receipt = await findReceiptById(dependencies, pledge.receiptId);
    return receipt !== null && maySeeReceipt(caller, receipt) ? pledge : null;
  },
  fields: (t) => ({
    receipt: t.field({
      type: ReceiptRef,
      nullable: true,
      description:
        'The receipt. Null for a lender after the release, because the receipt is no longer pledged to that lender.',
      resolve: async ({ receiptId }, _args, context) => asSeen(await receiptOf(context, receiptId), context),
    }),
    lenderName: t.exposeString('lenderName', { description: "The lender's name." }),
    lenderId: t.exposeString('lenderId', {
      nullable: true,
      description:
        "The subject of the lender's token, who may release the pledge. Null when only operators may.",
    }),
    loanReference: t.exposeString('loanReference', { description: "The lender's reference for the loan." }),
    pledgedAt: t.expose('pledgedAt', moment('The time the receipt was pledged')),
    pledgedBy: t.exposeString('pledgedBy', {
      description: "The subject who pledged the receipt: the farmer, or an operator on the farmer's behalf.",
    }),
    releasedAt: t.expose(
      'releasedAt',
      momentOrNull('The time the pledge was released', 'Null while the pledge is open'),
    ),
    releasedBy: t.exposeString('releasedBy', {
      nullable: true,
      description:
        'The subject who released the pledge: the lender, or an operator. Null while the pledge is open.',
    }),
  }),
});

builder.objectField(ReceiptRef, 'openPledge', (t) =>
  t.field({
    type: ReceiptPledgeRef,
    nullable: true,
    description:
      'The open pledge. Null when the receipt is not pledged. A pledge stays open after the expiry of the ' +
      'receipt, until it is released.',
    resolve: async ({ id }, _args, context) => (await openPledgeByReceipt(context, id)) ?? null,
  }),
);

const cursors = keysetCursors('receiptPledges');

builder.objectField(ReceiptRef, 'pledges', (t) =>
  t.connection(
    {
      type: ReceiptPledgeRef,
      description:
        'A paginated list of all pledges of the receipt, newest first. A lender sees only its own pledges.',
      resolve: (receipt, args, { caller, dependencies }) => {
        const filter = {
          receiptId: receipt.id,
          lenderId: maySeeReceipt(caller, receipt) ? undefined : caller?.subject,
        };
        return pageOf(args, cursors, listPledges(dependencies, filter));
      },
    },
    ...listNames('ReceiptPledge'),
  ),
);
