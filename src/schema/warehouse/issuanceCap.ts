/**
 * IssuanceCap: the maximum of kilograms of a commodity outstanding in a warehouse's receipts. The list of caps,
 * setIssuanceCap and removeIssuanceCap.
 */
import {
  findIssuanceCap,
  listIssuanceCaps,
  type IssuanceCap,
  removeIssuanceCap,
  setIssuanceCap,
} from '../../resolvers/warehouse/issuanceCaps.ts';
import { kilograms } from '../core/amounts.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { isOperator, maySeeWarehouse, subjectOf } from '../core/caller.ts';
import { anyOf, filterInput } from '../core/filters.ts';
import { addList } from '../core/lists.ts';
import { subject, label } from '../core/text.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { visible } from '../core/visible.ts';
import { moment } from '../core/time.ts';
import { SUBJECT_FORM } from '../../identity/roles.ts';
import { inputOf, payloadOf, required, resultOf } from '../core/inputs.ts';

const IssuanceCapRef = builder.objectRef<IssuanceCap>('IssuanceCap');

builder.node(IssuanceCapRef, {
  ...ownedBy<IssuanceCap>(({ warehouseId }) => [warehouseId]),
  description:
    'The maximum number of kilograms of a commodity for which receipts of a warehouse may be outstanding. A ' +
    'warehouse with caps can issue receipts only for the commodities of its caps; a warehouse without caps is ' +
    'not limited. Visible to the warehouse and to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: visible(findIssuanceCap, (caller, { warehouseId }) => maySeeWarehouse(caller, warehouseId)),
  fields: (t) => ({
    warehouseId: t.exposeString('warehouseId', { description: 'The warehouse.' }),
    commodityType: t.exposeString('commodityType', {
      description:
        'The commodity. Letter case, white space, full-width forms and kinds of hyphens make no difference.',
    }),
    limitKg: t.expose('limitKg', kilograms('The cap')),
    outstandingKg: t.expose('outstandingKg', {
      type: 'Kilograms',
      description:
        'The kilograms that count against the cap, in whole kilograms: those of receipts that are neither refused ' +
        'nor expired, less those of settled cash-outs. Exceeds the cap when the cap was lowered since.',
    }),
    setBy: t.exposeString('setBy', { description: 'The subject of the operator who last set the cap.' }),
    setAt: t.expose('setAt', moment('The time the cap was last set')),
  }),
});

const IssuanceCapFilterInput = filterInput('IssuanceCapFilter', 'A cap', (t) => ({
  warehouseIds: t.stringList(anyOf('caps of one of these warehouses', subject)),
}));

addList('issuanceCaps', IssuanceCapRef, {
  ...forRoles(
    ['warehouse', 'operator'],
    'A paginated list of issuance caps, the latest set first. Warehouses see their own caps, operators all.',
  ),
  filter: IssuanceCapFilterInput,
  filtered: 'Filters the caps. All that the caller may see are listed when omitted.',
  list: (deps, given, caller) =>
    listIssuanceCaps(deps, { ...given, visibleTo: isOperator(caller) ? null : (caller?.warehouseIds ?? []) }),
});

const SetIssuanceCapInput = builder.inputType('SetIssuanceCapInput', {
  description: 'The issuance cap to set.',
  fields: (t) => ({
    warehouseId: t.string(required(subject, `The warehouse: ${SUBJECT_FORM}.`)),
    commodityType: t.string({
      required: true,
      validate: { schema: label },
      description:
        'The commodity: at most 128 bytes of UTF-8. Letter case, white space, full-width forms and kinds of hyphens ' +
        'make no difference.',
    }),
    limitKg: t.field({ ...kilograms('The cap'), required: true }),
  }),
});

const RemoveIssuanceCapInput = builder.inputType('RemoveIssuanceCapInput', {
  description: 'The issuance cap to remove.',
  fields: (t) => ({
    issuanceCapId: t.globalID({ for: IssuanceCapRef, required: true, description: 'The `id` of the cap.' }),
  }),
});

builder.mutationFields((t) => ({
  setIssuanceCap: t.field({
    ...forRoles(
      ['operator'],
      'Sets or changes the cap of a commodity at a warehouse. The cap applies to every deposit that is ' +
        'confirmed afterwards; outstanding receipts stay. Setting the same cap again changes nothing.',
    ),
    type: payloadOf('SetIssuanceCapPayload', 'The cap in force.', {
      issuanceCap: resultOf(IssuanceCapRef, 'The cap.'),
    }),
    args: inputOf(SetIssuanceCapInput, 'The issuance cap to set.'),
    recordedInput: { targets: ['warehouseId'], shown: ['commodityType', 'limitKg'] },
    safeWithoutKey: 'the same cap again is the same cap',
    resolve: (_root, { input }, { caller, dependencies }) =>
      setIssuanceCap(dependencies, subjectOf(caller), input),
  }),
  removeIssuanceCap: t.field({
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
}));
