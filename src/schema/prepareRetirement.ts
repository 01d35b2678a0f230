/**
 * prepareRetirement: what a holder signs to burn their own credits.
 */
import { prepareRetirement } from '../resolvers/prepareRetirement.ts';
import type { HolderAct } from '../resolvers/findHolderAct.ts';
import { forRoles } from './access.ts';
import { subjectOf } from './caller.ts';
import { HolderActRef } from './holderAct.ts';
import { IDEMPOTENCY_KEY } from './idempotency.ts';
import { builder } from './platform.ts';
import { address, beneficiary, idempotencyKey, note } from './text.ts';

const PrepareRetirementInput = builder.inputType('PrepareRetirementInput', {
  description: 'What a holder retires of their own, and for whom.',
  fields: (t) => ({
    tokenAddress: t.string({
      required: true,
      validate: { schema: address },
      description: "The address of the project's token.",
    }),
    amountCO2e: t.field({ type: 'Tonnes', required: true, description: 'Whole tonnes CO2e.' }),
    holder: t.string({
      required: true,
      validate: { schema: address },
      description:
        'The address that holds the credits and whose key signs. The record will show it as who retired.',
    }),
    beneficiary: t.string({
      required: true,
      validate: { schema: beneficiary },
      description:
        'The beneficiary on the public record: a label, not an address. 1 to 256 bytes of UTF-8, without control or ' +
        'bidirectional characters.',
    }),
    note: t.string({
      required: true,
      defaultValue: '',
      validate: { schema: note },
      description: 'A remark on the public record: at most 1024 bytes of UTF-8; may be empty.',
    }),
    idempotencyKey: t.string({
      required: true,
      validate: { schema: idempotencyKey },
      description: `${IDEMPOTENCY_KEY} An act that has EXPIRED is prepared anew with a new key.`,
    }),
  }),
});

const PrepareRetirementPayload = builder.objectRef<HolderAct>('PrepareRetirementPayload').implement({
  description: 'What to sign.',
  fields: (t) => ({
    act: t.field({
      type: HolderActRef,
      description: 'The retirement: sign its `unsigned`, and give that back with `submitSigned`.',
      resolve: (act) => act,
    }),
  }),
});

builder.mutationField('prepareRetirement', (t) =>
  t.field({
    ...forRoles(
      ['buyer', 'operator'],
      'Prepares the retirement of credits at an address of their own, which only that holder can sign; nothing is held ' +
        "or sent. (Credits in the platform's books are retired with `retire`.) The act belongs to the token that had it " +
        "prepared; the holder's signature is what it needs to happen. Errors: NOT_FOUND, BAD_USER_INPUT, " +
        'INSUFFICIENT_BALANCE, LEDGER_REJECTED (the network would refuse it), IDEMPOTENCY_CONFLICT.',
    ),
    type: PrepareRetirementPayload,
    args: {
      input: t.arg({
        type: PrepareRetirementInput,
        required: true,
        description: 'What is retired, for whom.',
      }),
    },
    resolve: (_root, { input }, { caller, dependencies }) =>
      prepareRetirement(dependencies, subjectOf(caller), input),
  }),
);
