/**
 * ReceiptPledge: a lender's claim to a receipt. The open one is the receipt's `openPledge`. pledgeReceipt and
 * releasePledge pledge a receipt as security for a loan, and release it.
 */
import { findPledge, listPledges, type ReceiptPledge } from '../../resolvers/warehouse/findPledge.ts';
import { findReceiptById } from '../../resolvers/warehouse/findReceipt.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { builder } from '../core/builder.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { asSeen, isLenderOf, openPledgeByReceipt, maySeeReceipt, ReceiptRef, receiptOf } from './receipt.ts';
import { moment, momentOrNull } from '../core/time.ts';
import { SUBJECT_FORM } from '../../identity/roles.ts';
import { pledgeReceipt } from '../../resolvers/warehouse/pledgeReceipt.ts';
import { releasePledge } from '../../resolvers/warehouse/releasePledge.ts';
import { forRoles } from '../core/access.ts';
import { IDEMPOTENCY_KEY, inputOf, payloadOf, required, resultOf } from '../core/inputs.ts';
import { actorOf } from '../core/caller.ts';
import { label, subject } from '../core/text.ts';
import { RECEIPT_TOKEN } from '../core/tokenAddress.ts';

const ReceiptPledgeRef = builder.objectRef<ReceiptPledge>('ReceiptPledge');

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

const PledgeReceiptInput = builder.inputType('PledgeReceiptInput', {
  description: 'The receipt to pledge, and the lender. Texts: at most 128 bytes of UTF-8 each.',
  fields: (t) => ({
    receiptTokenAddress: t.field(RECEIPT_TOKEN),
    lenderName: t.string(required(label, 'The name of the lender that holds the pledge.')),
    lenderId: t.string({
      validate: { schema: subject },
      description:
        `The subject of the lender's token, ${SUBJECT_FORM}. The lender may then see and release the pledge. When ` +
        'omitted, only operators may.',
    }),
    loanReference: t.string(required(label, "The lender's reference for the loan.")),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

const ReleasePledgeInput = builder.inputType('ReleasePledgeInput', {
  description: 'The pledge to release.',
  fields: (t) => ({
    receiptTokenAddress: t.field(RECEIPT_TOKEN),
    loanReference: t.string({
      required: true,
      validate: { schema: label },
      description: 'The `loanReference` of the pledge, so that a late request cannot release a later pledge.',
    }),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

builder.mutationFields((t) => ({
  pledgeReceipt: t.field({
    ...forRoles(
      ['farmer', 'operator'],
      "Pledges a farmer's own receipt (any receipt, for operators) to a lender, as a whole. The receipt can then " +
        'be neither cashed out nor pledged again until `releasePledge`, but it still expires. The pledge is ' +
        "recorded by this platform and not on the ledger network: tokens at a holder's own address can still be " +
        'transferred. Errors: NOT_FOUND, RECEIPT_PLEDGED, RECEIPT_EXPIRED, CONFLICT (not active, being cashed out, ' +
        'or nothing left), IDEMPOTENCY_CONFLICT, LEDGER_UNAVAILABLE.',
    ),
    type: payloadOf('PledgeReceiptPayload', 'The recorded pledge.', {
      receiptPledge: resultOf(ReceiptPledgeRef, 'The pledge.'),
    }),
    args: inputOf(PledgeReceiptInput, 'The pledge to record.'),
    recordedInput: {
      targets: ['receiptTokenAddress', 'lenderId'],
      shown: ['loanReference', 'idempotencyKey'],
      hidden: ['lenderName'],
    },
    resolve: (_root, { input }, { caller, dependencies }) =>
      pledgeReceipt(dependencies, actorOf(caller), input),
  }),
  releasePledge: t.field({
    ...forRoles(
      ['lender', 'operator'],
      "Releases the pledge of a receipt, at the request of its lender, whose subject equals the pledge's " +
        "lenderId, or of an operator on the lender's behalf. The farmer, whom the pledge binds, cannot release it. " +
        'Errors: NOT_FOUND, CONFLICT (not pledged, or pledged under another loanReference), IDEMPOTENCY_CONFLICT.',
    ),
    type: payloadOf('ReleasePledgePayload', 'The released pledge.', {
      receiptPledge: { type: ReceiptPledgeRef, description: 'The pledge.' },
    }),
    args: inputOf(ReleasePledgeInput, 'The pledge to release.'),
    recordedInput: { targets: ['receiptTokenAddress'], shown: ['loanReference', 'idempotencyKey'] },
    resolve: (_root, { input }, { caller, dependencies }) =>
      releasePledge(dependencies, actorOf(caller), input),
  }),
}));
