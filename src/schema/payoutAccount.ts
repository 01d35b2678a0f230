/**
 * PayoutAccountInput: where fiat is paid to, as clients give it.
 */
import { DomainError } from '../errors.ts';
import type { PayoutAccount } from '../ramp/port.ts';
import { PayoutAccountTypeEnum } from './cashOutSession.ts';
import { builder } from './platform.ts';

export const PayoutAccountInput = builder.inputType('PayoutAccountInput', {
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

const ACCOUNT_NUMBER = /^[A-Za-z0-9+][A-Za-z0-9 +-]{2,32}[A-Za-z0-9]$/;

/** As providers want it. Errors name the field, never what stands in it. */
export function payoutAccountOf(input: typeof PayoutAccountInput.$inferInput): PayoutAccount {
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
