/**
 * setIssuanceCap and removeIssuanceCap: the maximum of kilograms of a commodity outstanding in a warehouse's
 * receipts.
 */
import { SUBJECT_FORM } from '../../identity/roles.ts';
import { removeIssuanceCap, setIssuanceCap } from '../../resolvers/warehouse/issuanceCaps.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { inputOf, payloadOf } from '../core/inputs.ts';
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
      required: true,
      description: 'The cap, in whole kilograms.',
    }),
  }),
});

const RemoveIssuanceCapInput = builder.inputType('RemoveIssuanceCapInput', {
  description: 'The issuance cap to remove.',
  fields: (t) => ({
    issuanceCapId: t.globalID({ for: IssuanceCapRef, required: true, description: 'The `id` of the cap.' }),
  }),
});

builder.mutationField('setIssuanceCap', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Sets or changes the cap of a commodity at a warehouse. The cap applies to every deposit that is ' +
        'confirmed afterwards; outstanding receipts stay. Setting the same cap again changes nothing.',
    ),
    type: payloadOf('SetIssuanceCapPayload', 'The cap in force.', {
      issuanceCap: {
        type: IssuanceCapRef,
        nullable: true,
        description: 'The cap. Null only if the mutation was not carried out.',
      },
    }),
    args: inputOf(SetIssuanceCapInput, 'The issuance cap to set.'),
    recordedInput: { targets: ['warehouseId'], shown: ['commodityType', 'limitKg'] },
    safeWithoutKey: 'the same cap again is the same cap',
    resolve: (_root, { input }, { caller, dependencies }) =>
      setIssuanceCap(dependencies, subjectOf(caller), input),
  }),
);

builder.mutationField('removeIssuanceCap', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Removes a cap. A warehouse that has other caps can then issue no receipts for the commodity; one without ' +
        'any is not limited. Removing a removed cap changes nothing. Errors: NOT_FOUND.',
    ),
    type: payloadOf('RemoveIssuanceCapPayload', 'The removed cap.', {
      issuanceCap: { type: IssuanceCapRef, description: 'The cap as it was.' },
    }),
    args: inputOf(RemoveIssuanceCapInput, 'The cap to remove.'),
    recordedInput: { targets: ['issuanceCapId'] },
    safeWithoutKey: 'a removed cap stays removed',
    resolve: (_root, { input }, { caller, dependencies }) =>
      removeIssuanceCap(dependencies, subjectOf(caller), input.issuanceCapId.id),
  }),
);
