/**
 * retire: burns credits for a beneficiary, permanently.
 */
import type { DryRun } from '../../resolvers/carbon/dryRun.ts';
import type { Retirement } from '../../resolvers/carbon/findRetirement.ts';
import { dryRunRetirement, retire } from '../../resolvers/carbon/retire.ts';
import { tonnes } from '../core/amounts.ts';
import { forBuyerOrOperator, OWN_BUYER_ID } from '../core/access.ts';
import { subjectOf } from '../core/caller.ts';
import { hashOf } from '../operations/networkTransaction.ts';
import { builder } from '../core/builder.ts';
import { DRY_RUN, DRY_RUN_ANSWER, IDEMPOTENCY_KEY, inputOf } from '../core/inputs.ts';
import { DryRunRef } from './dryRun.ts';
import { BENEFICIARY, NOTE } from './recordTexts.ts';
import { RetirementRef } from './retirement.ts';
import { RetirementPeriodInput, RetirementReasonEnum } from './retirementPurpose.ts';
import { beneficiaryId, subject } from '../core/text.ts';
import { PROJECT_TOKEN } from '../core/tokenAddress.ts';

const RetireInput = builder.inputType('RetireInput', {
  description: 'The credits to retire, the buyer and the beneficiary.',
  fields: (t) => ({
    buyerId: t.string({ validate: { schema: subject }, description: OWN_BUYER_ID }),
    buyerName: t.string(BENEFICIARY),
    tokenAddress: t.field(PROJECT_TOKEN),
    amountCO2e: t.field({ ...tonnes('The amount to retire'), required: true }),
    note: t.string(NOTE),
    beneficiaryId: t.string({
      validate: { schema: beneficiaryId },
      description:
        "The beneficiary's id in a public register, such as an LEI or a company number: 1 to 128 bytes of UTF-8. Public.",
    }),
    jurisdiction: t.field({
      type: 'CountryCode',
      description:
        'The country under whose rules the credits are claimed. Required with reason COMPLIANCE. Public.',
    }),
    reason: t.field({ type: RetirementReasonEnum, description: 'The reason for the retirement. Public.' }),
    period: t.field({
      type: RetirementPeriodInput,
      description: 'The period whose emissions the credits stand for. Public.',
    }),
    dryRun: t.boolean({ ...DRY_RUN, description: `${DRY_RUN.description} The network is not asked.` }),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

interface Answer {
  retirement: Retirement | null;
  dryRun: DryRun | null;
}

const RetirePayload = builder.objectRef<Answer>('RetirePayload').implement({
  description:
    'The retirement in the state that it had reached when the response was sent, or the result of a dry run. ' +
    'The processing of the retirement continues in the background.',
  fields: (t) => ({
    txHash: t.string({
      nullable: true,
      description:
        "The hash of the burn's transaction, the same as `retirement { txHash }`. Null while no transaction is " +
        'signed, and for a dry run.',
      resolve: ({ retirement }, _args, context) =>
        retirement && (retirement.txHash ?? hashOf(context, retirement.id, 'retire')),
    }),
    retirement: t.expose('retirement', {
      type: RetirementRef,
      nullable: true,
      description:
        'The retirement: RETIRED, or PENDING or NEEDS_REVIEW with the credits held. Null for a dry run.',
    }),
    dryRun: t.expose('dryRun', { type: DryRunRef, nullable: true, description: DRY_RUN_ANSWER }),
  }),
});

builder.mutationField('retire', (t) =>
  t.field({
    ...forBuyerOrOperator(
      (args: { input: { buyerId?: string | null | undefined } }) => args.input.buyerId,
      "Retires a buyer's credits: holds the credits in the books, burns them on the network, and waits for the " +
        'outcome up to a limit. Errors: NOT_FOUND, INSUFFICIENT_BALANCE (nothing is burned), IDEMPOTENCY_CONFLICT, ' +
        'LEDGER_REFUSED (the credits are returned).',
    ),
    type: RetirePayload,
    args: inputOf(RetireInput, 'The credits to retire, the buyer and the beneficiary.'),
    recordedInput: {
      targets: ['buyerId', 'tokenAddress'],
      shown: ['amountCO2e', 'jurisdiction', 'reason', 'period', 'dryRun', 'idempotencyKey'],
      hidden: ['buyerName', 'note', 'beneficiaryId'],
      isEntryWithEffect: true,
    },
    resolve: async (_root, { input }, { caller, dependencies, entry }): Promise<Answer> => {
      const { dryRun, buyerId: named, beneficiaryId: id, jurisdiction, reason, period, ...rest } = input;
      const purpose = {
        beneficiaryId: id ?? null,
        jurisdiction: jurisdiction ?? null,
        reason: reason ?? null,
        periodFrom: period?.from ?? null,
        periodUntil: period?.until ?? null,
      };
      // A request without a note and one with an empty note are the same, also for the idempotency key.
      const request = { buyerId: named ?? subjectOf(caller), purpose, ...rest, note: rest.note ?? '' };
      if (dryRun) return { retirement: null, dryRun: await dryRunRetirement(dependencies, request) };
      return { retirement: await retire(dependencies, subjectOf(caller), request, entry), dryRun: null };
    },
  }),
);
