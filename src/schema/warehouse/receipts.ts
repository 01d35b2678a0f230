/**
 * receipts: a farmer's own, those of a warehouse, or all of them for operators.
 */
import { countReceipts, listReceipts, receiptCursor } from '../../resolvers/warehouse/listReceipts.ts';
import type { ReceiptSight } from '../../resolvers/warehouse/listReceipts.ts';
import type { Caller } from '../../identity/roles.ts';
import { forRoles } from '../core/access.ts';
import { isOperator, subjectOf } from '../core/caller.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { ReceiptRef, ReceiptStateEnum } from './receipt.ts';
import { farmerId, warehouseId } from '../core/text.ts';

const ReceiptFilterInput = builder.inputType('ReceiptFilter', {
  description: 'Receipts must match all of these.',
  fields: (t) => ({
    farmerId: t.string({
      validate: { schema: farmerId },
      description: 'Only of the farmer with this subject.',
    }),
    farmerAddress: t.field({
      type: 'Address',
      description: "Only minted to this address, in the network's spelling.",
    }),
    warehouseId: t.string({
      validate: { schema: warehouseId },
      description: 'Only stored in this warehouse.',
    }),
    state: t.field({ type: ReceiptStateEnum, description: 'Only in this state.' }),
    expiringBefore: t.field({
      type: 'UnixTime',
      description: 'Only with an expiry date before this time, in Unix seconds.',
    }),
  }),
});

const cursors = keysetCursors('receipts', cursorValues.moment);

/** Null for operators, who see all. */
function sightOf(caller: Caller | null): ReceiptSight | null {
  if (isOperator(caller)) return null;
  const roles = caller?.roles ?? [];
  return {
    farmerId: roles.includes('farmer') ? subjectOf(caller) : null,
    warehouseIds: roles.includes('warehouse') ? (caller?.warehouseIds ?? []) : [],
  };
}

builder.queryField('receipts', (t) =>
  t.connection(
    {
      ...forRoles(
        ['farmer', 'warehouse', 'operator'],
        'Warehouse receipts, newest first, a page at a time. Farmers see their own, warehouses those that they store, ' +
          'operators all.',
      ),
      type: ReceiptRef,
      nullable: true,
      args: { filter: t.arg({ type: ReceiptFilterInput, description: 'Which receipts.' }) },
      resolve: (_root, args, { caller, dependencies }) => {
        const filter = { ...args.filter, visibleTo: sightOf(caller) };
        return pageOf(args, cursors, {
          list: (page) => listReceipts(dependencies, filter, page),
          cursorOf: receiptCursor,
          count: () => countReceipts(dependencies, filter),
        });
      },
    },
    ...listNames('Receipt'),
  ),
);
