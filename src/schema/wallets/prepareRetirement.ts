/**
 * prepareRetirement: prepares a burn for a holder's wallet to sign.
 */
import { prepareRetirement } from '../../resolvers/wallets/prepareRetirement.ts';
import { tonnes } from '../core/amounts.ts';
import { forRoles } from '../core/access.ts';
import { subjectOf } from '../core/caller.ts';
import { BENEFICIARY, NOTE } from '../carbon/recordTexts.ts';
import { HolderActRef } from './holderAct.ts';
import { builder } from '../core/builder.ts';
import { IDEMPOTENCY_KEY, inputOf, payloadOf, resultOf } from '../core/inputs.ts';
import { PROJECT_TOKEN } from '../core/tokenAddress.ts';

const PrepareRetirementInput = builder.inputType('PrepareRetirementInput', {
  description: "The holder's credits to retire, and the beneficiary.",
  fields: (t) => ({
    tokenAddress: t.field(PROJECT_TOKEN),
    amountCO2e: t.field({ ...tonnes('The amount to retire'), required: true }),
    holderAddress: t.field({
      type: 'Address',
      required: true,
      description:
        'The address that holds the credits and whose key signs. The record shows this address as `retiredBy`.',
    }),
    beneficiary: t.string(BENEFICIARY),
    note: t.string(NOTE),
    idempotencyKey: t.string({
      ...IDEMPOTENCY_KEY,
      description:
        `${IDEMPOTENCY_KEY.description} When an act has EXPIRED, or its \`unsigned.expiresAt\` has passed, prepare ` +
        'another act with a new key.',
    }),
  }),
});

builder.mutationField('prepareRetirement', (t) =>
  t.field({
    ...forRoles(
      ['buyer', 'operator'],
      "Prepares the retirement of credits at a holder's own address, which only the holder can sign. Nothing is " +
        "held or sent. (Use `retire` for credits in the platform's books.) The act belongs to the caller who " +
        "prepared it, and takes effect only with the holder's signature. Errors: RATE_LIMITED (also when a thousand " +
        'acts prepared within a day are unsigned), NOT_FOUND, BAD_USER_INPUT (an address that signs for the ' +
        'platform), INSUFFICIENT_BALANCE, LEDGER_REFUSED (the network would refuse the retirement), ' +
        'LEDGER_UNAVAILABLE, IDEMPOTENCY_CONFLICT.',
    ),
    type: payloadOf('PrepareRetirementPayload', 'The act to sign.', {
      holderAct: resultOf(
        HolderActRef,
        'The retirement: sign its `unsigned` transaction and return that with `submitSigned`.',
      ),
    }),
    args: inputOf(PrepareRetirementInput, 'The credits to retire, and the beneficiary.'),
    recordedInput: {
      targets: ['tokenAddress', 'holderAddress'],
      shown: ['amountCO2e', 'idempotencyKey'],
      hidden: ['beneficiary', 'note'],
    },
    resolve: (_root, { input: { holderAddress: holder, ...rest } }, { caller, dependencies }) =>
      // A request without a note and one with an empty note are the same, also for the idempotency key.
      prepareRetirement(dependencies, subjectOf(caller), { ...rest, holder, note: rest.note ?? '' }),
  }),
);
