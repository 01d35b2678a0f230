/**
 * pledgeReceipt and releasePledge: pledge a receipt as security for a loan, and release it.
 */
import { SUBJECT_FORM } from '../../identity/roles.ts';
import { pledgeReceipt } from '../../resolvers/warehouse/pledgeReceipt.ts';
import { releasePledge } from '../../resolvers/warehouse/releasePledge.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { IDEMPOTENCY_KEY, inputOf, payloadOf } from '../core/inputs.ts';
import { actorOf } from '../core/caller.ts';
import { label, subject } from '../core/text.ts';
import { ReceiptPledgeRef } from './receiptPledge.ts';
import { RECEIPT_TOKEN } from '../core/tokenAddress.ts';

const PledgeReceiptInput = builder.inputType('PledgeReceiptInput', {
  description: 'The receipt to pledge, and the lender. Texts: at most 128 bytes of UTF-8 each.',
  fields: (t) => ({
    receiptTokenAddress: t.field(RECEIPT_TOKEN),
    lenderName: t.string({
      required: true,
      validate: { schema: label },
      description: 'The name of the lender that holds the pledge.',
    }),
    lenderId: t.string({
      validate: { schema: subject },
      description:
        `The subject of the lender's token, ${SUBJECT_FORM}. The lender may then see and release the pledge. When ` +
        'omitted, only operators may.',
    }),
    loanReference: t.string({
      required: true,
      validate: { schema: label },
      description: "The lender's reference for the loan.",
    }),
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

builder.mutationField('pledgeReceipt', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      "Pledges a farmer's own receipt (any receipt, for operators) to a lender, as a whole. The receipt can then " +
        'be neither cashed out nor pledged again until `releasePledge`, but it still expires. The pledge is ' +
        "recorded by this platform and not on the ledger network: tokens at a holder's own address can still be " +
        'transferred. Errors: NOT_FOUND, RECEIPT_PLEDGED, RECEIPT_EXPIRED, CONFLICT (not active, being cashed out, ' +
        'or nothing left), IDEMPOTENCY_CONFLICT, LEDGER_UNAVAILABLE.',
    ),
    type: payloadOf('PledgeReceiptPayload', 'The recorded pledge.', {
      receiptPledge: {
        type: ReceiptPledgeRef,
        nullable: true,
        description: 'The pledge. Null only if the mutation was not carried out.',
      },
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
);

builder.mutationField('releasePledge', (t) =>
  t.field({
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
);
