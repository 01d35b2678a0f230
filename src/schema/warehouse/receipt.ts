/**
 * Receipt: a deposit of a commodity, issued as one receipt token.
 */
import type { Caller } from '../../identity/roles.ts';
import {
  findReceiptById,
  findReceiptByToken,
  findReceiptsByIds,
} from '../../resolvers/warehouse/findReceipt.ts';
import type { Receipt } from '../../resolvers/warehouse/findReceipt.ts';
import { findOpenPledges, type ReceiptPledge } from '../../resolvers/warehouse/findPledge.ts';
import { FOLLOWED_RECEIPTS, type FollowedReceipt } from '../../resolvers/warehouse/followReceipt.ts';
import { forRoles } from '../core/access.ts';
import { createBatch, createRequiredBatch } from '../core/batch.ts';
import { actsAs, maySeeFarmer, maySeeWarehouse } from '../core/caller.ts';
import type { Context } from '../core/context.ts';
import { transactionsOf } from '../operations/networkTransaction.ts';
import { subscribeTo, UPDATES_UNTIL_FINAL } from '../core/updates.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { builder } from '../core/builder.ts';
import { TOKEN_ADDRESS } from '../core/tokenAddress.ts';
import { receiptFields } from './receiptFields.ts';
import { moment, momentOrNull } from '../core/time.ts';

export const openPledgeByReceipt = createBatch(findOpenPledges);

/** The receipt of a list's item. */
export const receiptOf = createRequiredBatch('receipt', findReceiptsByIds);

export const ReceiptRef = builder.objectRef<Receipt>('Receipt');

export function maySeeReceipt(caller: Caller | null, receipt: Receipt): boolean {
  return maySeeFarmer(caller, receipt.farmerId) || maySeeWarehouse(caller, receipt.warehouseId);
}

export function isLenderOf(caller: Caller | null, { lenderId }: ReceiptPledge): boolean {
  return actsAs(caller, 'lender', lenderId);
}

/** The receipt's lender sees it as well, while it is pledged. */
function maySeePledged(
  caller: Caller | null,
  receipt: Receipt & { openPledge: ReceiptPledge | null },
): boolean {
  return (
    maySeeReceipt(caller, receipt) || (receipt.openPledge !== null && isLenderOf(caller, receipt.openPledge))
  );
}

/** Null when there is none, or the caller may not see it. */
export async function asSeen(receipt: Receipt | null, context: Context): Promise<Receipt | null> {
  if (receipt === null || maySeeReceipt(context.caller, receipt)) return receipt;
  const openPledge = (await openPledgeByReceipt(context, receipt.id)) ?? null;
  return maySeePledged(context.caller, { ...receipt, openPledge }) ? receipt : null;
}

export async function findVisibleReceipt(id: string, context: Context): Promise<Receipt | null> {
  return asSeen(await findReceiptById(context.dependencies, id), context);
}

builder.node(ReceiptRef, {
  ...ownedBy<Receipt>(({ farmerId, warehouseId }) => [farmerId, warehouseId]),
  description:
    'A confirmed deposit of a commodity, issued as one receipt token. Visible to its farmer, its warehouse, the ' +
    'lender to whom it is pledged, and operators.',
  id: { resolve: ({ id }) => id },
  loadOne: findVisibleReceipt,
  fields: (t) => ({
    tokenAddress: t.expose('tokenAddress', {
      type: 'Address',
      nullable: true,
      description: 'The address of the token on the ledger network. Null until the token is deployed.',
    }),
    ...receiptFields(t),
    assetId: t.exposeString('assetId', {
      description: 'The warehouse id and the millisecond of the deposit, joined by a hyphen. Unique.',
    }),
    valuationUSD: t.expose('valuationUsd', {
      type: 'UsDollars',
      description: 'The value of the deposit, in whole US dollars.',
    }),
    farmerAddress: t.expose('farmerAddress', {
      type: 'Address',
      description: 'The address to which the kilograms were minted.',
    }),
    farmerId: t.exposeString('farmerId', {
      nullable: true,
      description: "The subject of the farmer's token. Null when the warehouse named none.",
    }),
    tokenName: t.exposeString('tokenName', { description: "The token's display name." }),
    tokenSymbol: t.exposeString('tokenSymbol', { description: "The token's symbol: WHR." }),
    expiredAt: t.expose('expiredAt', momentOrNull('The time the receipt was marked as expired')),
    expiredTxHash: t.exposeString('expiredTxHash', {
      nullable: true,
      description:
        'The hash of the transaction that marked the receipt as expired. Null until then, and when another party marked it.',
    }),
    stateReason: t.exposeString('stateReason', {
      nullable: true,
      description: 'The reason why the receipt was refused or needs review, as text. Null in other states.',
    }),
    transactions: t.field(transactionsOf('All signed transactions of the receipt, oldest first.')),
    createdAt: t.expose('createdAt', moment('The time the deposit was confirmed')),
    activatedAt: t.expose('activatedAt', momentOrNull('The time the whole quantity was minted')),
  }),
});

builder.queryField('receipt', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'warehouse', 'lender', 'operator'],
      'The warehouse receipt whose token has this address. Null when no receipt that the caller may see has a token there.',
    ),
    type: ReceiptRef,
    args: { tokenAddress: t.arg(TOKEN_ADDRESS) },
    resolve: async (_root, { tokenAddress }, context) =>
      asSeen(await findReceiptByToken(context.dependencies, tokenAddress), context),
  }),
);

subscribeTo<Receipt, FollowedReceipt>(
  'receiptUpdated',
  ReceiptRef,
  forRoles(
    ['farmer', 'warehouse', 'lender', 'operator'],
    'Follows a warehouse receipt, including its `openPledge` and remaining kilograms. ' +
      `${UPDATES_UNTIL_FINAL}EXPIRED or REFUSED. The open pledge and the remaining kilograms may change after ` +
      'that. For a lender the subscription also ends when the pledge is released. Errors: NOT_FOUND (no such ' +
      'receipt that the caller may see).',
  ),
  { kind: FOLLOWED_RECEIPTS, maySee: maySeePledged, noun: 'receipt' },
);
