/**
 * Receipt: a deposit of a commodity, issued as one receipt token. receipts lists a farmer's own, those of a
 * warehouse, or all of them for operators; commodityTypes lists their commodities.
 */
import type { Caller } from '../../identity/roles.ts';
import {
  findReceiptById,
  findReceiptByToken,
  findReceiptsByIds,
  type Receipt,
  FOLLOWED_RECEIPTS,
  type FollowedReceipt,
} from '../../resolvers/warehouse/findReceipt.ts';
import { findOpenPledges, type ReceiptPledge } from '../../resolvers/warehouse/findPledge.ts';
import { atLeast, atMost } from '../core/amounts.ts';
import { forRoles } from '../core/access.ts';
import { createBatch, createRequiredBatch } from '../core/batch.ts';
import { actsAs, maySeeFarmer, maySeeWarehouse, isOperator, subjectOf } from '../core/caller.ts';
import type { Context } from '../core/context.ts';
import { transactionsOf } from '../operations/networkTransaction.ts';
import { subscribeTo, UPDATES_UNTIL_FINAL } from '../core/updates.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { builder } from '../core/builder.ts';
import { TOKEN_ADDRESS } from '../core/tokenAddress.ts';
import { receiptFields, ReceiptStateEnum } from './receiptFields.ts';
import { moment, momentOrNull, fromTime, untilTime } from '../core/time.ts';
import {
  listCommodityTypes,
  listReceipts,
  type ReceiptSight,
} from '../../resolvers/warehouse/listReceipts.ts';
import { anyOf, filterInput, within } from '../core/filters.ts';
import { addList } from '../core/lists.ts';
import { label, subject } from '../core/text.ts';

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

const ReceiptFilterInput = filterInput('ReceiptFilter', 'A receipt', (t) => ({
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
  minQuantityKg: t.field(atLeast('Kilograms', 'receipts of', 'kilograms')),
  maxQuantityKg: t.field(atMost('Kilograms', 'receipts of', 'kilograms')),
  ...within(t, 'receipts confirmed'),
  expiresFrom: t.field(fromTime('receipts with an `expiryDate`')),
  expiresUntil: t.field(untilTime('receipts with an `expiryDate`')),
}));

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

addList('receipts', ReceiptRef, {
  ...forRoles(
    ['farmer', 'warehouse', 'lender', 'operator'],
    'A paginated list of warehouse receipts, newest first. Farmers see their own receipts, warehouses the ' +
      'receipts that they store, lenders the receipts that are pledged to them now, operators all.',
  ),
  filter: ReceiptFilterInput,
  filtered: 'Filters the receipts. All that the caller may see are listed when omitted.',
  list: (deps, given, caller) => listReceipts(deps, { ...given, visibleTo: sightOf(caller) }),
});

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
