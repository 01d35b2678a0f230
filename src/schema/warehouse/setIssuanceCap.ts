/**
 * setIssuanceCap: sets the maximum of kilograms of a commodity outstanding in a warehouse's receipts.
 */
import { SUBJECT_FORM } from '../../identity/roles.ts';
import { setIssuanceCap, type IssuanceCap } from '../../resolvers/warehouse/issuanceCaps.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { subjectOf } from '../core/caller.ts';
import { label, subject } from '../core/text.ts';
import { IssuanceCapRef } from './issuanceCap.ts';

const SetIssuanceCapInput = builder.inputType('SetIssuanceCapInput', {
  description: 'The issuance cap to set.',
  fields: (t) => ({
    warehouseId: t.string({
      required: true,
      validate: { schema: subject },
      description: `The warehouse: ${SUBJECT_FORM}.`,
    }),
    commodityType: t.string({
      required: true,
      validate: { schema: label },
      description:
        'The commodity: at most 128 bytes of UTF-8. Letter case, white space, full-width forms and kinds of hyphens ' +
        'make no difference.',
    }),
    limitKg: t.field({
      type: 'Kilograms',
      description: 'The cap, in whole kilograms. When omitted, the cap is removed.',
    }),
  }),
});

const SetIssuanceCapPayload = builder
  .objectRef<{ cap: IssuanceCap | null }>('SetIssuanceCapPayload')
  .implement({
    description: 'The cap in force.',
    fields: (t) => ({
      issuanceCap: t.expose('cap', {
        type: IssuanceCapRef,
        nullable: true,
        description: 'The cap. Null when the cap was removed.',
      }),
    }),
  });

builder.mutationField('setIssuanceCap', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Sets, changes or removes the cap of a commodity at a warehouse. The cap applies to every deposit that is ' +
        'confirmed afterwards; outstanding receipts stay. Setting the same cap again changes nothing.',
    ),
    type: SetIssuanceCapPayload,
    nullable: true,
    args: {
      input: t.arg({ type: SetIssuanceCapInput, required: true, description: 'The issuance cap to set.' }),
    },
    recordedInput: { targets: ['warehouseId'], shown: ['commodityType', 'limitKg'] },
    safeWithoutKey: 'the same cap again is the same cap',
    resolve: async (_root, { input }, { caller, dependencies }) => ({
      cap: await setIssuanceCap(dependencies, subjectOf(caller), {
        ...input,
        limitKg: input.limitKg ?? null,
      }),
    }),
  }),
);
