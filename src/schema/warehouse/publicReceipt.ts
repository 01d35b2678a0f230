/**
 * publicReceipt: what everyone who has a receipt's address may know of it.
 */
import { findLiens } from '../../resolvers/warehouse/findPledge.ts';
import { findReceiptByToken, type Receipt } from '../../resolvers/warehouse/findReceipt.ts';
import { ZERO_HASH } from '../../ledger/units.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { TOKEN_ADDRESS } from '../core/tokenAddress.ts';
import { ReceiptStateEnum } from './receipt.ts';

const PublicReceipt = builder.objectRef<Receipt>('PublicReceipt').implement({
  description:
    'What a warehouse receipt stands for, and whether it is free: for those who were given its address. It has nothing of the ' +
    'farmer, the lender or the payout.',
  fields: (t) => ({
    tokenAddress: t.expose('tokenAddress', {
      type: 'Address',
      nullable: true,
      description: "The token's address on the ledger network.",
    }),
    state: t.expose('state', { type: ReceiptStateEnum, description: 'Its state.' }),
    commodityType: t.exposeString('commodityType', { description: 'What is stored, such as Maize.' }),
    quantityKg: t.expose('quantityKg', {
      type: 'Kilograms',
      description: 'The minted amount, in whole kilograms.',
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
      description: 'Hash of the inspection report; null when there is none.',
      resolve: ({ inspectionReportHash }) =>
        inspectionReportHash === ZERO_HASH ? null : inspectionReportHash,
    }),
    depositDate: t.expose('depositDate', {
      type: 'UnixTime',
      description: "When it was deposited, by the network's clock, in Unix seconds.",
    }),
    expiryDate: t.expose('expiryDate', {
      type: 'UnixTime',
      description: 'When it expires, in Unix seconds: 180 days after the deposit.',
    }),
    pledged: t.boolean({
      description: 'Whether it is pledged to a lender now.',
      resolve: async ({ id }, _args, { dependencies }) => (await findLiens(dependencies, [id])).has(id),
    }),
  }),
});

builder.queryField('publicReceipt', (t) =>
  t.field({
    ...forPublic(
      'What a warehouse receipt stands for, by the address of its token, without anything personal; null when there is none.',
    ),
    type: PublicReceipt,
    nullable: true,
    args: { tokenAddress: t.arg(TOKEN_ADDRESS) },
    resolve: (_root, { tokenAddress }, { dependencies }) => findReceiptByToken(dependencies, tokenAddress),
  }),
);
