/**
 * The description and state of a receipt: the fields of Receipt and of PublicReceipt.
 */
import type { ObjectFieldBuilder } from '@pothos/core';
import type { Receipt } from '../../resolvers/warehouse/findReceipt.ts';
import { remainingOf, readTaken } from '../../resolvers/warehouse/readTaken.ts';
import { ZERO_HASH } from '../../ledger/units.ts';
import { createBatch } from '../core/batch.ts';
import type { ContractTypes } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { moment } from '../core/time.ts';

export const ReceiptStateEnum = enumOf('ReceiptState', 'The state of a warehouse receipt.', {
  DEPLOYING: 'The token is being deployed.',
  MINTING: 'The token is deployed, and its kilograms are being minted to the farmer.',
  ACTIVE:
    'The whole quantity is minted, and the receipt is not marked as expired. `remainingKg` shows how much remains.',
  EXPIRED: 'The receipt is past its expiry date, and marked as expired on the network.',
  REFUSED: 'The network refused the token, or an operator ended the issuance. Nothing was issued.',
  NEEDS_REVIEW: 'An operator has to decide before the issuance continues.',
});

const takenByReceipt = createBatch(readTaken);

export function receiptFields(t: ObjectFieldBuilder<ContractTypes, Receipt>) {
  return {
    state: t.expose('state', { type: ReceiptStateEnum, description: 'The state of the receipt.' }),
    commodityType: t.exposeString('commodityType', { description: 'The stored commodity, such as Maize.' }),
    quantityKg: t.expose('quantityKg', {
      type: 'Kilograms',
      description: 'The minted amount, in whole kilograms. Cash-outs do not reduce it.',
    }),
    remainingKg: t.field({
      type: 'Kilograms',
      description:
        'The remaining amount, in whole kilograms: `quantityKg` less the kilograms of cash-outs that are open, ' +
        'settled, or paid out and not taken back.',
      resolve: async ({ id, quantityKg }, _args, context) =>
        remainingOf(quantityKg, (await takenByReceipt(context, id))?.takenKg ?? 0n),
    }),
    beingCashedOut: t.boolean({
      description: 'Whether a cash-out of the receipt, or of a part of it, is open now.',
      resolve: async ({ id }, _args, context) =>
        ((await takenByReceipt(context, id))?.openSessionCount ?? 0) > 0,
    }),
    gradeClassification: t.exposeString('gradeClassification', {
      description: 'The grade of the commodity.',
    }),
    warehouseId: t.exposeString('warehouseId', { description: 'The warehouse that stores the commodity.' }),
    warehouseLocation: t.string({
      nullable: true,
      description: "The warehouse's location as text. Null when none was given.",
      resolve: ({ warehouseLocation }) => (warehouseLocation === '' ? null : warehouseLocation),
    }),
    countryCode: t.expose('countryCode', {
      type: 'CountryCode',
      description: 'The country of the receipt: ISO 3166-1 alpha-2.',
    }),
    harvestSeason: t.string({
      nullable: true,
      description: 'The harvest season. Null when none was given.',
      resolve: ({ harvestSeason }) => (harvestSeason === '' ? null : harvestSeason),
    }),
    inspectionReportHash: t.field({
      type: 'Hash32',
      nullable: true,
      description:
        'The hash of the inspection report. Null when there is none, which the token records as all zeros.',
      resolve: ({ inspectionReportHash }) =>
        inspectionReportHash === ZERO_HASH ? null : inspectionReportHash,
    }),
    depositDate: t.expose('depositDate', moment("The time of the deposit, by the network's clock")),
    expiryDate: t.expose('expiryDate', {
      type: 'UnixTime',
      description: 'The time the receipt expires, in Unix seconds: 180 days after the deposit.',
    }),
  };
}
