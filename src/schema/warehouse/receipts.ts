/**
 * receipts: a farmer's own, those of a warehouse, or all of them for operators. commodityTypes: the receipts'
 * commodities.
 */
import { listCommodityTypes, listReceipts } from '../../resolvers/warehouse/listReceipts.ts';
import type { ReceiptSight } from '../../resolvers/warehouse/listReceipts.ts';
import type { Caller } from '../../identity/roles.ts';
import { forRoles } from '../core/access.ts';
import { isOperator, subjectOf } from '../core/caller.ts';
import { anyOf, FILTER_RULE, filterOf, within } from '../core/filters.ts';
import { label, subject } from '../core/text.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { ReceiptRef } from './receipt.ts';
import { ReceiptStateEnum } from './receiptFields.ts';
import { fromTime, untilTime } from '../core/time.ts';

const ReceiptFilterInput = builder.inputType('ReceiptFilter', {
  description: `A receipt ${FILTER_RULE}`,
  fields: (t) => ({
    tokenAddresses: t.field({ type: ['Address'], ...anyOf('receipts with one of these token addresses') }),
    farmerIds: t.stringList(anyOf('receipts of farmers with one of these subjects', subject)),
    farmerAddresses: t.field({ type: ['Address'], ...anyOf('receipts minted to one of these addresses') }),
    warehouseIds: t.stringList(anyOf('receipts of one of these warehouses', subject)),
    lenderIds: t.stringList(
      anyOf('receipts that are pledged now to lenders with one of these subjects', subject),
    ),
    pledged: t.boolean({
      description: 'true: only receipts that are pledged now; false: only receipts that are not.',
    }),
    commodityTypes: t.stringList(
      anyOf('receipts of one of these commodities, in exactly this spelling', label),
    ),
    states: t.field({ type: [ReceiptStateEnum], description: 'Only receipts in one of these states.' }),
    minQuantityKg: t.field({
      type: 'Kilograms',
      description: 'Only receipts of at least this many kilograms.',
    }),
    maxQuantityKg: t.field({
      type: 'Kilograms',
      description: 'Only receipts of at most this many kilograms.',
    }),
    ...within(t, 'receipts confirmed'),
    expiresFrom: t.field(fromTime('receipts with an `expiryDate`')),
    expiresUntil: t.field(untilTime('receipts with an `expiryDate`')),
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
        'A paginated list of warehouse receipts, newest first. Farmers see their own receipts, warehouses the ' +
          'receipts that they store, lenders the receipts that are pledged to them now, operators all.',
      ),
      type: ReceiptRef,
      args: filterOf(
        ReceiptFilterInput,
        'Filters the receipts. All that the caller may see are listed when omitted.',
      ),
      resolve: (_root, args, { caller, dependencies }) => {
        const filter = { ...args.filter, visibleTo: sightOf(caller) };
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
      'The commodity types of the receipts that the caller may see, each once, in alphabetical order, at most ' +
        '100. These are the values for `filter: { commodityTypes }` of `receipts`.',
    ),
    resolve: (_root, _args, { caller, dependencies }) =>
      listCommodityTypes(dependencies, { visibleTo: sightOf(caller) }),
  }),
);
