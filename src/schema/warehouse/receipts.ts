/**
 * receipts: a farmer's own, those of a warehouse, or all of them for operators. commodityTypes: the receipts'
 * commodities.
 */
import { listCommodityTypes, listReceipts } from '../../resolvers/warehouse/listReceipts.ts';
import type { ReceiptSight } from '../../resolvers/warehouse/listReceipts.ts';
import type { Caller } from '../../identity/roles.ts';
import { forRoles } from '../core/access.ts';
import { isOperator, subjectOf } from '../core/caller.ts';
import { FILTER_RULE, filterList, labelList, oneOf, subjectList } from '../core/filters.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { ReceiptRef } from './receipt.ts';
import { ReceiptStateEnum } from './receiptFields.ts';
import { fromTime, untilTime } from '../core/time.ts';

const ReceiptFilterInput = builder.inputType('ReceiptFilter', {
  description: `A receipt ${FILTER_RULE}`,
  fields: (t) => ({
    tokenAddresses: t.field({
      type: ['Address'],
      validate: { schema: filterList<string>() },
      description: oneOf('With one of these tokens'),
    }),
    farmerIds: t.stringList({
      validate: { schema: subjectList },
      description: oneOf('Of one of the farmers with these subjects'),
    }),
    farmerAddresses: t.field({
      type: ['Address'],
      validate: { schema: filterList<string>() },
      description: oneOf('Minted to one of these addresses'),
    }),
    warehouseIds: t.stringList({
      validate: { schema: subjectList },
      description: oneOf('Stored in one of these warehouses'),
    }),
    lenderIds: t.stringList({
      validate: { schema: subjectList },
      description: oneOf('Pledged now to one of the lenders with these subjects'),
    }),
    pledged: t.boolean({ description: 'true: only those that are pledged now; false: only the others.' }),
    commodityTypes: t.stringList({
      validate: { schema: labelList },
      description: oneOf('Of one of these commodities, in exactly this spelling'),
    }),
    states: t.field({ type: [ReceiptStateEnum], description: 'In one of these states.' }),
    minQuantityKg: t.field({ type: 'Kilograms', description: 'Of at least this many kilograms.' }),
    maxQuantityKg: t.field({ type: 'Kilograms', description: 'Of at most this many kilograms.' }),
    from: t.field(fromTime('Confirmed')),
    until: t.field(untilTime('Confirmed')),
    expiresFrom: t.field(fromTime('With an `expiryDate`')),
    expiresUntil: t.field(untilTime('With an `expiryDate`')),
  }),
});

const cursors = keysetCursors('receipts');

/** Null for operators, who see all. */
function sightOf(caller: Caller | null): ReceiptSight | null {
  if (isOperator(caller)) return null;
  const roles = caller?.roles ?? [];
  return {
    farmerId: roles.includes('farmer') ? subjectOf(caller) : null,
    warehouseIds: roles.includes('warehouse') ? (caller?.warehouseIds ?? []) : [],
    lenderId: roles.includes('lender') ? subjectOf(caller) : null,
  };
}

builder.queryField('receipts', (t) =>
  t.connection(
    {
      ...forRoles(
        ['farmer', 'warehouse', 'lender', 'operator'],
        'Warehouse receipts, newest first, a page at a time. Farmers see their own, warehouses those that they store, ' +
          'lenders those that are pledged to them now, operators all.',
      ),
      type: ReceiptRef,
      nullable: true,
      args: {
        filter: t.arg({
          type: ReceiptFilterInput,
          description: 'Which receipts; all that the caller sees when omitted.',
        }),
      },
      resolve: (_root, args, { caller, dependencies }) => {
        const { pledged, ...rest } = args.filter ?? {};
        const filter = { ...rest, isPledged: pledged, visibleTo: sightOf(caller) };
        return pageOf(args, cursors, listReceipts(dependencies, filter));
      },
    },
    ...listNames('Receipt'),
  ),
);

builder.queryField('commodityTypes', (t) =>
  t.stringList({
    ...forRoles(
      ['farmer', 'warehouse', 'lender', 'operator'],
      'The kinds of produce of the receipts that the caller sees, each once, in alphabetical order, at most 100: the values for ' +
        '`filter: { commodityTypes }` of `receipts`.',
    ),
    nullable: true,
    resolve: (_root, _args, { caller, dependencies }) =>
      listCommodityTypes(dependencies, { visibleTo: sightOf(caller) }),
  }),
);
