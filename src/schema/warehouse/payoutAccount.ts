/**
 * PayoutAccountInput: the account that fiat is paid out to.
 */
import { DomainError } from '../../lib/errors.ts';
import type { PayoutAccount } from '../../ramp/port.ts';
import { TYPE_AT_PROVIDERS } from '../../resolvers/warehouse/offRamp/payoutAccount.ts';
import { PayoutAccountTypeEnum } from './offRampEnums.ts';
import { builder } from '../core/builder.ts';

export const PayoutAccountInput = builder.inputType('PayoutAccountInput', {
  description:
    'The account to pay out to. MOBILE_MONEY requires `provider` and excludes `bankCode`; BANK requires ' +
    '`bankCode` and `accountName` and excludes `provider`. A wrong field is a BAD_USER_INPUT with its path in ' +
    '`extensions.field`. The account is encrypted at rest, masked for all readers except the operator who pays ' +
    'by hand, and never part of a log or an error.',
  fields: (t) => ({
    type: t.field({ type: PayoutAccountTypeEnum, required: true, description: 'The type of account.' }),
    accountNumber: t.field({
      type: 'PrivateText',
      required: true,
      description: 'A phone number, IBAN or account number: 4 to 34 letters, digits, spaces, + or -.',
    }),
    provider: t.field({ type: 'PrivateText', description: 'The mobile operator, such as MTN or Airtel.' }),
    bankCode: t.field({ type: 'PrivateText', description: "The bank's code." }),
    accountName: t.field({ type: 'PrivateText', description: "The account holder's name." }),
  }),
});

const ACCOUNT_NUMBER = /^[A-Za-z0-9+][A-Za-z0-9 +-]{2,32}[A-Za-z0-9]$/;

type AccountInput = typeof PayoutAccountInput.$inferInput;
type OptionalField = 'provider' | 'bankCode' | 'accountName';

/**
 * The fields that each type of account needs, may have, or must not have. A field of the other type is
 * reported instead of ignored.
 */
const FIELDS: Readonly<
  Record<AccountInput['type'], Record<OptionalField, 'needed' | 'optional' | 'foreign'>>
> = {
  MOBILE_MONEY: { provider: 'needed', bankCode: 'foreign', accountName: 'optional' },
  BANK: { provider: 'foreign', bankCode: 'needed', accountName: 'needed' },
};

/**
 * The account in the form that providers take.
 * @throws DomainError BAD_USER_INPUT that names the field, never its value
 */
export function payoutAccountOf(input: AccountInput): PayoutAccount {
  const { type, accountNumber, provider, bankCode, accountName } = input;
  if (!ACCOUNT_NUMBER.test(accountNumber)) {
    throw wrongField('accountNumber', 'must be 4 to 34 letters, digits, spaces, + or -');
  }
  for (const name of ['provider', 'bankCode', 'accountName'] as const) {
    const isGiven = input[name] != null;
    if (FIELDS[type][name] === 'needed' && !isGiven) throw wrongField(name, `is needed with type ${type}`);
    if (FIELDS[type][name] === 'foreign' && isGiven)
      throw wrongField(name, `must be left out with type ${type}`);
  }
  if (type === 'BANK') {
    return {
      type: TYPE_AT_PROVIDERS[type],
      accountNumber,
      bankCode: bankCode ?? '',
      accountName: accountName ?? '',
    };
  }
  return {
    type: TYPE_AT_PROVIDERS[type],
    accountNumber,
    provider: provider ?? '',
    accountName: accountName ?? undefined,
  };
}

function wrongField(name: string, problem: string): DomainError {
  const field = `input.payoutAccount.${name}`;
  return new DomainError('BAD_USER_INPUT', `${field} ${problem}.`, { field });
}
