/**
 * Receipt: a commodity in a warehouse, as one receipt token.
 */
import { unixSeconds } from '../clock.ts';
import type { Caller } from '../identity/roles.ts';
import type { Dependencies } from '../resolvers/dependencies.ts';
import { findReceiptById, findReceiptByToken, findReceiptsByIds } from '../resolvers/findReceipt.ts';
import type { Receipt } from '../resolvers/findReceipt.ts';
import { readTransactions } from '../resolvers/findRetirement.ts';
import { forRoles } from './access.ts';
import { createBatch } from './batch.ts';
import { maySeeFarmer, maySeeWarehouse } from './caller.ts';
import type { Context } from './context.ts';
import { NetworkTransactionRef } from './networkTransaction.ts';
import { notFound } from './notFound.ts';
import { builder } from './platform.ts';
import { address } from './text.ts';

type PlatformContext = Context<Dependencies>;

const receiptById = createBatch(({ dependencies }: PlatformContext, ids: readonly string[]) =>
  findReceiptsByIds(dependencies, ids),
);

/** The receipt that an item of a list belongs to. */
export async function receiptOf(context: PlatformContext, receiptId: string): Promise<Receipt> {
  const receipt = await receiptById(context, receiptId);
  if (receipt === undefined) throw new Error(`receipt ${receiptId} has vanished`);
  return receipt;
}

export const ReceiptStateEnum = builder.enumType('ReceiptState', {
  description: 'How far the life of a warehouse receipt is.',
  values: {
    DEPLOYING: { description: 'Its token is being deployed.' },
    MINTING: { description: 'Its token is there; its kilograms are being minted to the farmer.' },
    ACTIVE: { description: 'Minted in full; it can be cashed out.' },
    EXPIRED: { description: 'Past its expiry date, and marked so on the network.' },
    REFUSED: { description: 'The network refused the token; nothing was issued.' },
    NEEDS_REVIEW: { description: 'An operator has to decide before it goes on.' },
  },
});

export const ReceiptRef = builder.objectRef<Receipt>('Receipt');

function maySee(caller: Caller | null, receipt: Receipt): boolean {
  return maySeeFarmer(caller, receipt.farmerId) || maySeeWarehouse(caller, receipt.warehouseId);
}

builder.node(ReceiptRef, {
  description:
    'A confirmed deposit of a commodity, as one receipt token. Seen by the tokens of its farmer, its warehouse and ' +
    'operators.',
  id: { resolve: ({ id }) => id },
  loadOne: async (id: string, { caller, dependencies }) => {
    const found = await findReceiptById(dependencies, id);
    return found !== null && maySee(caller, found) ? found : null;
  },
  fields: (t) => ({
    state: t.expose('state', { type: ReceiptStateEnum, description: 'How far its life is.' }),
    assetId: t.exposeString('assetId', {
      description: 'Warehouse id and the millisecond of the deposit, joined by a hyphen; unique.',
    }),
    commodityType: t.exposeString('commodityType', { description: 'What is stored, such as Maize.' }),
    quantityKg: t.expose('quantityKg', {
      type: 'Kilograms',
      description: 'Whole kilograms: what was minted.',
    }),
    gradeClassification: t.exposeString('gradeClassification', { description: 'Its grade.' }),
    warehouseId: t.exposeString('warehouseId', { description: 'Where it is stored.' }),
    warehouseLocation: t.exposeString('warehouseLocation', {
      description: 'Where the warehouse is, in words; may be empty.',
    }),
    harvestSeason: t.exposeString('harvestSeason', { description: 'When it was harvested; may be empty.' }),
    inspectionReportHash: t.expose('inspectionReportHash', {
      type: 'Hash32',
      description: 'Of the inspection report; all zero when there is none.',
    }),
    valuationUSD: t.expose('valuationUsd', {
      type: 'UsDollars',
      description: 'Its value, in whole US dollars.',
    }),
    countryCode: t.exposeString('countryCode', { description: 'ISO 3166-1 alpha-2.' }),
    farmerAddress: t.exposeString('farmerAddress', { description: 'Where the kilograms were minted to.' }),
    farmerId: t.exposeString('farmerId', {
      nullable: true,
      description: "The subject of the farmer's token; null when the warehouse named none.",
    }),
    tokenName: t.exposeString('tokenName', { description: "The token's display name." }),
    tokenSymbol: t.exposeString('tokenSymbol', { description: "The token's symbol: WHR." }),
    tokenAddress: t.exposeString('tokenAddress', {
      nullable: true,
      description: "The token's address on the ledger network; null until it is deployed.",
    }),
    depositDate: t.expose('depositDate', {
      type: 'UnixTime',
      description: "When it was deposited, by the network's clock, in Unix seconds.",
    }),
    expiryDate: t.expose('expiryDate', {
      type: 'UnixTime',
      description: 'When it expires, in Unix seconds: 180 days after the deposit.',
    }),
    expiredAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When it was marked expired, in Unix seconds; null before.',
      resolve: ({ expiredAt }) => (expiredAt === null ? null : unixSeconds(expiredAt)),
    }),
    expiredTxHash: t.exposeString('expiredTxHash', {
      nullable: true,
      description: 'The hash of the transaction that marked it; null before, and when somebody else did.',
    }),
    refusalMessage: t.exposeString('refusalMessage', {
      nullable: true,
      description: 'Why it was refused or needs review, in words; null otherwise.',
    }),
    transactions: t.field({
      type: [NetworkTransactionRef],
      description: 'Every transaction that was signed for it, oldest first.',
      resolve: ({ id }, _args, { dependencies }) => readTransactions(dependencies, id),
    }),
    createdAt: t.field({
      type: 'UnixTime',
      description: 'When the deposit was confirmed, in Unix seconds.',
      resolve: ({ createdAt }) => unixSeconds(createdAt),
    }),
    activatedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When it was minted in full, in Unix seconds; null before.',
      resolve: ({ activatedAt }) => (activatedAt === null ? null : unixSeconds(activatedAt)),
    }),
  }),
});

builder.queryField('receipt', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'warehouse', 'operator'],
      'A warehouse receipt by the address of its token. NOT_FOUND when there is none there that the caller may see.',
    ),
    type: ReceiptRef,
    args: {
      tokenAddress: t.arg.string({
        required: true,
        validate: { schema: address },
        description: "The token's address on the ledger network.",
      }),
    },
    resolve: async (_root, { tokenAddress }, { caller, dependencies }) => {
      const found = await findReceiptByToken(dependencies, tokenAddress);
      if (found === null || !maySee(caller, found)) throw notFound('receipt', 'tokenAddress');
      return found;
    },
  }),
);
