/**
 * The description and state of a receipt: the fields of Receipt and of PublicReceipt.
 */
import type { ObjectFieldBuilder } from '@pothos/core';
import type { Receipt } from '../../resolvers/warehouse/findReceipt.ts';
import { remainingOf, readTaken } from '../../resolvers/warehouse/readTaken.ts';
import { ZERO_HASH } from '../../ledger/units.ts';
import { createBatch } from '../core/batch.ts';
import { builder, type ContractTypes } from '../core/builder.ts';
import { moment } from '../core/time.ts';

export const ReceiptStateEnum = builder.enumType('ReceiptState', {
  description: 'State of a warehouse receipt.',
  values: {
    DEPLOYING: { description: 'Its token is being deployed.' },
    MINTING: { description: 'Its token is deployed; its kilograms are being minted to the farmer.' },
    ACTIVE: { description: 'Minted in full, and not marked expired; `remainingKg` says what remains of it.' },
    EXPIRED: { description: 'Past its expiry date, and marked so on the network.' },
    REFUSED: { description: 'The network refused the token, or an operator ended it; nothing was issued.' },
    NEEDS_REVIEW: { description: 'An operator has to decide before it goes on.' },
  },
});

const takenByReceipt = createBatch(readTaken);

export function receiptFields(t: ObjectFieldBuilder<ContractTypes, Receipt>) {
  return {
    state: t.expose('state', { type: ReceiptStateEnum, description: 'Its state.' }),
    commodityType: t.exposeString('commodityType', { description: 'What is stored, such as Maize.' }),
    quantityKg: t.expose('quantityKg', {
      type: 'Kilograms',
      description: 'The minted amount, in whole kilograms; cash-outs do not lower it.',
    }),
    remainingKg: t.field({
      type: 'Kilograms',
      description:
        'What remains of it, in whole kilograms: `quantityKg` less those of cash-outs that are open, settled, or paid out and ' +
        'not taken back.',
      resolve: async ({ id, quantityKg }, _args, context) =>
        remainingOf(quantityKg, (await takenByReceipt(context, id))?.takenKg ?? 0n),
    }),
    beingCashedOut: t.boolean({
      description: 'Whether a cash-out of it, or of a part of it, is open now.',
      resolve: async ({ id }, _args, context) =>
        ((await takenByReceipt(context, id))?.openSessionCount ?? 0) > 0,
    }),
    gradeClassification: t.exposeString('gradeClassification', { description: 'Its grade.' }),
    warehouseId: t.exposeString('warehouseId', { description: 'The warehouse that stores it.' }),
    warehouseLocation: t.string({
      nullable: true,
      description: "The warehouse's location as text; null when it was not given.",
      resolve: ({ warehouseLocation }) => (warehouseLocation === '' ? null : warehouseLocation),
    }),
    countryCode: t.expose('countryCode', { type: 'CountryCode', description: 'ISO 3166-1 alpha-2.' }),
    harvestSeason: t.string({
      nullable: true,
      description: 'When it was harvested; null when it was not given.',
      resolve: ({ harvestSeason }) => (harvestSeason === '' ? null : harvestSeason),
    }),
    inspectionReportHash: t.field({
      type: 'Hash32',
      nullable: true,
      description:
        'Hash of the inspection report; null when there is none, which the token records as all zero.',
      resolve: ({ inspectionReportHash }) =>
        inspectionReportHash === ZERO_HASH ? null : inspectionReportHash,
    }),
    depositDate: t.expose('depositDate', moment("When it was deposited, by the network's clock")),
    expiryDate: t.expose('expiryDate', {
      type: 'UnixTime',
      description: 'When it expires, in Unix seconds: 180 days after the deposit.',
    }),
  };
}
