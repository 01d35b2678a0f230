/**
 * receipts: a farmer's own, those of a warehouse, or all of them for operators.
 */
import { listReceipts, receiptCursor } from '../resolvers/listReceipts.ts';
import type { ReceiptSight } from '../resolvers/listReceipts.ts';
import type { Caller } from '../identity/roles.ts';
import { forRoles } from './access.ts';
import { isOperator, subjectOf } from './caller.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from './paging.ts';
import { builder } from './platform.ts';
import { ReceiptRef, ReceiptStateEnum } from './receipt.ts';
import { address, farmerId, warehouseId } from './text.ts';

const ReceiptFilterInput = builder.inputType('ReceiptFilter', {
  description: 'Only receipts that have all of these.',
  fields: (t) => ({
    farmerId: t.string({ validate: { schema: farmerId }, description: 'Of the farmer with this subject.' }),
    farmerAddress: t.string({
      validate: { schema: address },
      description: 'Minted to this address, spelled as the network does.',
    }),
    warehouseId: t.string({ validate: { schema: warehouseId }, description: 'Stored in this warehouse.' }),
    state: t.field({ type: ReceiptStateEnum, description: 'In this state.' }),
    expiringBefore: t.field({
      type: 'UnixTime',
      description: 'With an expiry date before this moment, in Unix seconds.',
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
      args: { filter: t.arg({ type: ReceiptFilterInput, description: 'Which receipts.' }) },
      resolve: (_root, args, { caller, dependencies }) => {
        const filter = { ...args.filter, visibleTo: sightOf(caller) };
        return pageOf(args, cursors, (page) => listReceipts(dependencies, filter, page), receiptCursor);
      },
    },
    ...listNames('Receipt'),
  ),
);
