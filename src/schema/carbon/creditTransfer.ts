/**
 * CreditTransfer: credits that one buyer gave to another, with transferCredits.
 */
import {
  findCreditTransfer,
  type CreditTransfer,
  dryRunTransfer,
  transferCredits,
} from '../../resolvers/carbon/transferCredits.ts';
import { tonnes } from '../core/amounts.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { visible } from '../core/visible.ts';
import { builder } from '../core/builder.ts';
import { maySeeBuyer, subjectOf } from '../core/caller.ts';
import { ofProject } from './project.ts';
import { moment } from '../core/time.ts';
import { SUBJECT_FORM } from '../../identity/roles.ts';
import type { DryRun } from '../../resolvers/carbon/dryRun.ts';
import { forBuyerOrOperator, OWN_BUYER_ID } from '../core/access.ts';
import { DRY_RUN, DRY_RUN_ANSWER, IDEMPOTENCY_KEY, inputOf, optional } from '../core/inputs.ts';
import { memo, subject } from '../core/text.ts';
import { DryRunRef } from './dryRun.ts';
import { PROJECT_TOKEN } from '../core/tokenAddress.ts';

export const CreditTransferRef = builder.objectRef<CreditTransfer>('CreditTransfer');

builder.node(CreditTransferRef, {
  ...ownedBy<CreditTransfer>(({ fromBuyerId, toBuyerId }) => [fromBuyerId, toBuyerId]),
  description:
    "Credits that one buyer transferred to another, only in the platform's books. Visible to both buyers and to operators.",
  id: { resolve: ({ id }) => id },
  loadOne: visible(
    findCreditTransfer,
    (caller, { fromBuyerId, toBuyerId }) =>
      maySeeBuyer(caller, fromBuyerId) || maySeeBuyer(caller, toBuyerId),
  ),
  fields: (t) => ({
    fromBuyerId: t.exposeString('fromBuyerId', {
      description: 'The buyer who owned the credits before the transfer.',
    }),
    toBuyerId: t.exposeString('toBuyerId', {
      description: 'The buyer who owns the credits after the transfer.',
    }),
    project: t.field(ofProject('The project of the credits.')),
    tonnes: t.expose('amountTonnes', tonnes('The transferred amount')),
    memo: t.exposeString('memo', {
      nullable: true,
      description:
        "The purpose of the transfer, in the sender's words, which both buyers see. Null when none was given.",
    }),
    createdAt: t.expose('createdAt', moment('The time the transfer was booked')),
  }),
});

const TransferCreditsInput = builder.inputType('TransferCreditsInput', {
  description: 'The credits to transfer, the buyer who sends them, and the buyer who receives them.',
  fields: (t) => ({
    fromBuyerId: t.string(optional(subject, `${OWN_BUYER_ID} The credits leave this buyer's balance.`)),
    toBuyerId: t.string({
      required: true,
      validate: { schema: subject },
      description:
        `The buyer who receives the credits: the subject of that buyer's token, ${SUBJECT_FORM}. The platform keeps ` +
        'no list of buyers, so an id that no token has is accepted; an operator can transfer such credits back.',
    }),
    tokenAddress: t.field(PROJECT_TOKEN),
    amountCO2e: t.field({ ...tonnes('The amount to transfer'), required: true }),
    memo: t.string({
      validate: { schema: memo },
      description:
        'The purpose of the transfer, shown to both buyers and to operators: 1 to 512 bytes of UTF-8. The text is ' +
        'stored permanently and can never be erased: do not put personal data in it.',
    }),
    dryRun: t.boolean(DRY_RUN),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

interface Answer {
  creditTransfer: CreditTransfer | null;
  dryRun: DryRun | null;
}

const TransferCreditsPayload = builder.objectRef<Answer>('TransferCreditsPayload').implement({
  description: 'The booked transfer, or the result of a dry run.',
  fields: (t) => ({
    creditTransfer: t.expose('creditTransfer', {
      type: CreditTransferRef,
      nullable: true,
      description: 'The transfer. Null for a dry run.',
    }),
    dryRun: t.expose('dryRun', { type: DryRunRef, nullable: true, description: DRY_RUN_ANSWER }),
  }),
});

builder.mutationField('transferCredits', (t) =>
  t.field({
    ...forBuyerOrOperator(
      (args: { input: { fromBuyerId?: string | null | undefined } }) => args.input.fromBuyerId,
      "Moves credits from one buyer to another, immediately and only in the platform's books, without a network " +
        'transaction. The statements of both buyers show the transfer. A transfer cannot be undone, but the ' +
        'recipient can transfer the credits back. Errors: BAD_USER_INPUT (both buyers are the same), NOT_FOUND, ' +
        'INSUFFICIENT_BALANCE, IDEMPOTENCY_CONFLICT.',
      'fromBuyerId',
    ),
    type: TransferCreditsPayload,
    args: inputOf(
      TransferCreditsInput,
      'The credits to transfer, the buyer who sends them, and the buyer who receives them.',
    ),
    recordedInput: {
      targets: ['fromBuyerId', 'toBuyerId', 'tokenAddress'],
      shown: ['amountCO2e', 'dryRun', 'idempotencyKey'],
      hidden: ['memo'],
      isEntryWithEffect: true,
    },
    resolve: async (_root, { input }, { caller, dependencies, entry }): Promise<Answer> => {
      const { dryRun, fromBuyerId, ...rest } = input;
      const request = { ...rest, fromBuyerId: fromBuyerId ?? subjectOf(caller), memo: rest.memo ?? null };
      if (dryRun) return { creditTransfer: null, dryRun: await dryRunTransfer(dependencies, request) };
      return {
        creditTransfer: await transferCredits(dependencies, subjectOf(caller), request, entry),
        dryRun: null,
      };
    },
  }),
);
