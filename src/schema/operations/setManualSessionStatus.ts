/**
 * setManualSessionStatus: the person who pays out reports the status of a payout.
 */
import { needsApproval } from '../../resolvers/approvals/approvalPolicy.ts';
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { requestApproval } from '../../resolvers/approvals/requestApproval.ts';
import type { PayoutAccount, RampSession } from '../../ramp/port.ts';
import {
  hasManualStatus,
  readPayoutAccount,
  setManualSessionStatus,
} from '../../resolvers/operations/setManualSessionStatus.ts';
import { payoutAccountTypeOf } from '../../resolvers/warehouse/offRamp/payoutAccount.ts';
import { APPROVAL } from '../approvals/approvalRequest.ts';
import { forRoles } from '../core/access.ts';
import { requireCaller, subjectOf } from '../core/caller.ts';
import { PayoutAccountTypeEnum, RampStatusEnum } from '../warehouse/offRampEnums.ts';
import { builder } from '../core/builder.ts';
import { inputOf, required } from '../core/inputs.ts';
import { label, sessionId } from '../core/text.ts';

const SetManualSessionStatusInput = builder.inputType('SetManualSessionStatusInput', {
  description: 'A payout of the manual provider, and its new status.',
  fields: (t) => ({
    sessionId: t.string(
      required(sessionId, "The provider's id of the session: `sessionId` of the off-ramp session."),
    ),
    status: t.field({ type: RampStatusEnum, required: true, description: 'The new status of the payout.' }),
    paymentReference: t.string({
      validate: { schema: label },
      description:
        'The payment reference of the bank or mobile money service, stored with the status: at most 128 bytes of UTF-8.',
    }),
  }),
});

const UnmaskedPayoutAccountRef = builder.objectRef<PayoutAccount>('UnmaskedPayoutAccount').implement({
  description: 'The account to pay to, as given in `PayoutAccountInput`.',
  fields: (t) => ({
    type: t.field({
      type: PayoutAccountTypeEnum,
      description: 'The type of account.',
      resolve: payoutAccountTypeOf,
    }),
    accountNumber: t.exposeString('accountNumber', {
      description: 'The phone number, IBAN or account number.',
    }),
    provider: t.string({
      nullable: true,
      description: 'The mobile operator. Null for BANK.',
      resolve: (account) => (account.type === 'mobile-money' ? account.provider : null),
    }),
    bankCode: t.string({
      nullable: true,
      description: "The bank's code. Null for MOBILE_MONEY.",
      resolve: (account) => (account.type === 'bank' ? account.bankCode : null),
    }),
    accountName: t.string({
      nullable: true,
      description: "The account holder's name. Null for MOBILE_MONEY when none was given.",
      resolve: ({ accountName }) => accountName ?? null,
    }),
  }),
});

interface Answer {
  session: RampSession;
  payTo?: PayoutAccount | null;
  approval: ApprovalRequest | null;
}

const SetManualSessionStatusPayload = builder.objectRef<Answer>('SetManualSessionStatusPayload').implement({
  description:
    'The session as stored at the manual provider. While SETTLED or REFUNDED awaits approval, a PENDING session ' +
    'is set to PROCESSING, so that it cannot be cancelled meanwhile; other sessions are unchanged.',
  fields: (t) => ({
    sessionId: t.string({
      description: "The provider's id of the session.",
      resolve: ({ session }) => session.sessionId,
    }),
    status: t.field({
      type: RampStatusEnum,
      description: 'The status of the session.',
      resolve: ({ session }) => session.status,
    }),
    payoutAccount: t.field({
      type: UnmaskedPayoutAccountRef,
      nullable: true,
      description:
        'The complete account to pay to, for the operator who makes the payout. Null unless the status is ' +
        'PROCESSING and the off-ramp session is AWAITING_PAYOUT, because it must not be paid otherwise.',
      resolve: ({ payTo }) => payTo ?? null,
    }),
    approvalRequest: t.expose('approval', APPROVAL),
  }),
});

builder.mutationField('setManualSessionStatus', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Sets the status of a session at the manual provider. Set PROCESSING before you pay: the farmer can cancel ' +
        'a PENDING payout, and the response to PROCESSING has the complete account to pay to. Every status except ' +
        'PROCESSING may need approval (`approvalRequest`). Setting the current status again needs none, unless the ' +
        'payment reference differs. Errors: NOT_FOUND; CONFLICT when another provider is configured, when ' +
        'PROCESSING or PENDING is set for a payout that is SETTLED, FAILED or REFUNDED (it was cancelled, or ended ' +
        'otherwise), and when PROCESSING is set although another operator has set it, or the settlement contract ' +
        'shows the tokens as released or no longer has the deposit (do not pay then); LEDGER_UNAVAILABLE when ' +
        'PROCESSING is set while the state of the tokens is unknown.',
    ),
    type: SetManualSessionStatusPayload,
    args: inputOf(SetManualSessionStatusInput, 'The session and its new status.'),
    recordedInput: { targets: ['sessionId'], hidden: ['status', 'paymentReference'] },
    safeWithoutKey: 'the status is what it is set to',
    resolve: async (_root, { input }, { caller, dependencies }): Promise<Answer> => {
      const operation = { operation: 'setManualSessionStatus', input } as const;
      // A repeated request for a status that is already set needs no approval: a second person would be asked
      // about a finished operation.
      if (
        needsApproval(dependencies.approvalPolicy, operation) &&
        (await hasManualStatus(dependencies, input))
      )
        return { session: { sessionId: input.sessionId, status: input.status }, approval: null };
      const approval = await requestApproval(dependencies, requireCaller(caller), operation);
      if (!approval) {
        const session = await setManualSessionStatus(dependencies, subjectOf(caller), input);
        const isPayer = session.status === 'processing';
        return {
          session,
          approval,
          payTo: isPayer ? await readPayoutAccount(dependencies, session.sessionId) : null,
        };
      }
      const { sessionId } = input;
      const { status } = await dependencies.ramp.getStatus(sessionId);
      return { session: { sessionId, status }, approval };
    },
  }),
);
