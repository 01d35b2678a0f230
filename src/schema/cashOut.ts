/**
 * cashOut: receipt tokens into custody, fiat to the farmer.
 */
import { DomainError } from '../errors.ts';
import type { PayoutAccount } from '../ramp/port.ts';
import { cashOut } from '../resolvers/cashOut.ts';
import type { CashOut } from '../resolvers/findCashOut.ts';
import { readTransactions } from '../resolvers/findRetirement.ts';
import { forRoles } from './access.ts';
import { isOperator, subjectOf } from './caller.ts';
import { CashOutSessionRef, PayoutAccountTypeEnum } from './cashOutSession.ts';
import { IDEMPOTENCY_KEY } from './idempotency.ts';
import { hashOf } from './networkTransaction.ts';
import { builder } from './platform.ts';
import { address, countryCode, currencyCode, idempotencyKey } from './text.ts';

const PayoutAccountInput = builder.inputType('PayoutAccountInput', {
  description:
    'Where the fiat is paid to. MOBILE_MONEY needs `provider`; BANK needs `bankCode` and `accountName`. Encrypted ' +
    'at rest, masked when read, and never part of a log or an error.',
  fields: (t) => ({
    type: t.field({ type: PayoutAccountTypeEnum, required: true, description: 'What kind it is.' }),
    accountNumber: t.field({
      type: 'PrivateText',
      required: true,
      description: 'A phone number, IBAN or account number: 4 to 34 letters, digits, spaces, + or -.',
    }),
    provider: t.field({ type: 'PrivateText', description: 'The mobile operator: MTN, Airtel, …' }),
    bankCode: t.field({ type: 'PrivateText', description: "The bank's code." }),
    accountName: t.field({ type: 'PrivateText', description: "The account holder's name." }),
  }),
});

const CashOutInput = builder.inputType('CashOutInput', {
  description: 'What a farmer cashes out, and where to.',
  fields: (t) => ({
    receiptTokenAddress: t.string({
      required: true,
      validate: { schema: address },
      description: "The address of the receipt's token.",
    }),
    tokenAmount: t.field({ type: 'Kilograms', required: true, description: 'Whole kilograms.' }),
    fiatCurrency: t.string({
      required: true,
      validate: { schema: currencyCode },
      description: 'ISO 4217, in capitals.',
    }),
    countryCode: t.string({
      required: true,
      validate: { schema: countryCode },
      description: 'Of the payout account: ISO 3166-1 alpha-2, in capitals.',
    }),
    payoutAccount: t.field({
      type: PayoutAccountInput,
      required: true,
      description: 'Where the fiat is paid to.',
    }),
    idempotencyKey: t.string({
      required: true,
      validate: { schema: idempotencyKey },
      description: IDEMPOTENCY_KEY,
    }),
  }),
});

const CashOutPayload = builder.objectRef<CashOut>('CashOutPayload').implement({
  description: 'The cash-out, in the state reached when the answer was given. It goes on by itself.',
  fields: (t) => ({
    sessionId: t.exposeString('providerSessionId', {
      nullable: true,
      description: "The ramp provider's id of the session; null while it is not open there.",
    }),
    txHash: t.string({
      nullable: true,
      description: 'The hash of the deposit into custody; null while none is signed.',
      resolve: async ({ id, depositTxHash }, _args, { dependencies }) =>
        depositTxHash ?? hashOf(await readTransactions(dependencies, id), 'initiateOffRamp'),
    }),
    session: t.field({
      type: CashOutSessionRef,
      description: 'The cash-out, with its frozen quote.',
      resolve: (session) => session,
    }),
  }),
});

builder.mutationField('cashOut', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      "Cashes out kilograms of a farmer's own receipt (of any receipt, for operators): freezes a quote, opens a session " +
        'at the ramp provider and puts the tokens into custody of the settlement contract. Waits for that up to a limit; ' +
        'the payout itself comes later. Errors: NOT_FOUND, RECEIPT_EXPIRED, CONFLICT (no settlement contract, or the ' +
        'receipt is not active), INSUFFICIENT_BALANCE (custody holds too little), RAMP_REJECTED, RAMP_UNAVAILABLE, ' +
        'LEDGER_REJECTED, IDEMPOTENCY_CONFLICT.',
    ),
    type: CashOutPayload,
    args: { input: t.arg({ type: CashOutInput, required: true, description: 'What goes where.' }) },
    resolve: (_root, { input }, { caller, dependencies }) =>
      cashOut(
        dependencies,
        { subject: subjectOf(caller), isOperator: isOperator(caller) },
        { ...input, payoutAccount: payoutAccountOf(input.payoutAccount) },
      ),
  }),
);

const ACCOUNT_NUMBER = /^[A-Za-z0-9+][A-Za-z0-9 +-]{2,32}[A-Za-z0-9]$/;

/** As providers want it. Errors name the field, never what stands in it. */
function payoutAccountOf(input: typeof PayoutAccountInput.$inferInput): PayoutAccount {
  const { type, accountNumber, provider, bankCode, accountName } = input;
  if (!ACCOUNT_NUMBER.test(accountNumber)) {
    throw wrongField('accountNumber', 'must be 4 to 34 letters, digits, spaces, + or -');
  }
  if (type === 'MOBILE_MONEY') {
    if (provider == null) throw wrongField('provider', 'is needed with type MOBILE_MONEY');
    return { type: 'mobile-money', accountNumber, provider, accountName: accountName ?? undefined };
  }
  if (bankCode == null) throw wrongField('bankCode', 'is needed with type BANK');
  if (accountName == null) throw wrongField('accountName', 'is needed with type BANK');
  return { type: 'bank', accountNumber, bankCode, accountName };
}

function wrongField(name: string, problem: string): DomainError {
  const field = `input.payoutAccount.${name}`;
  return new DomainError('BAD_USER_INPUT', `${field} ${problem}.`, { field });
}
