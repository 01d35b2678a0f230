/**
 * createDeposit: a confirmed deposit becomes a receipt token.
 */
import { createDeposit } from '../resolvers/createDeposit.ts';
import type { Receipt } from '../resolvers/findReceipt.ts';
import { readTransactions } from '../resolvers/findRetirement.ts';
import { forWarehouseOrOperator } from './access.ts';
import { subjectOf } from './caller.ts';
import { IDEMPOTENCY_KEY } from './idempotency.ts';
import { hashOf } from './networkTransaction.ts';
import { builder } from './platform.ts';
import { ReceiptRef } from './receipt.ts';
import { address, countryCode, farmerId, idempotencyKey, label, optionalLabel, warehouseId } from './text.ts';

const CreateDepositInput = builder.inputType('CreateDepositInput', {
  description: 'A deposit, as the warehouse confirms it. Texts: at most 128 bytes of UTF-8 each.',
  fields: (t) => ({
    farmerAddress: t.string({
      required: true,
      validate: { schema: address },
      description:
        'Where the kilograms are minted to: an address whose key the farmer has, who then cashes out by signing ' +
        "(`prepareCashOutDeposit`), or the platform's custody signer (`ledgerNetwork.custodyAddress`), which deposits by " +
        'itself what it holds (`cashOut`).',
    }),
    farmerId: t.string({
      validate: { schema: farmerId },
      description:
        "The subject of the farmer's token, who may then see the receipt and cash it out. Without it operators alone may.",
    }),
    commodityType: t.string({
      required: true,
      validate: { schema: label },
      description: 'What is stored, such as Maize.',
    }),
    quantityKg: t.field({
      type: 'Kilograms',
      required: true,
      description: 'Whole kilograms: all of it is minted.',
    }),
    warehouseId: t.string({
      required: true,
      validate: { schema: warehouseId },
      description: 'The warehouse: one of the warehouseIds of its token.',
    }),
    gradeClassification: t.string({
      required: true,
      validate: { schema: label },
      description: 'The grade, such as Grade 1.',
    }),
    valuationUSD: t.field({
      type: 'UsDollars',
      required: true,
      description: 'The value of the deposit, in whole US dollars.',
    }),
    warehouseLocation: t.string({
      validate: { schema: optionalLabel },
      description: 'Where the warehouse is, in words.',
    }),
    countryCode: t.string({
      validate: { schema: countryCode },
      description: "ISO 3166-1 alpha-2, in capitals; the platform's own when left out.",
    }),
    harvestSeason: t.string({
      validate: { schema: optionalLabel },
      description: 'When it was harvested, such as 2025 long rains.',
    }),
    inspectionReportHash: t.field({
      type: 'Hash32',
      description: 'Of the inspection report; all zero when left out.',
    }),
    idempotencyKey: t.string({
      required: true,
      validate: { schema: idempotencyKey },
      description: IDEMPOTENCY_KEY,
    }),
  }),
});

const CreateDepositPayload = builder.objectRef<Receipt>('CreateDepositPayload').implement({
  description: 'The receipt, in the state reached when the answer was given. Its issue goes on by itself.',
  fields: (t) => ({
    tokenAddress: t.exposeString('tokenAddress', {
      nullable: true,
      description: "The token's address; null while the network has not deployed it.",
    }),
    txHash: t.string({
      nullable: true,
      description: 'The hash of the transaction that deploys the token; null while none is signed.',
      resolve: async ({ id, deployTxHash }, _args, { dependencies }) =>
        deployTxHash ?? hashOf(await readTransactions(dependencies, id), 'deployCommodityReceipt'),
    }),
    receipt: t.field({ type: ReceiptRef, description: 'The receipt.', resolve: (receipt) => receipt }),
  }),
});

builder.mutationField('createDeposit', (t) =>
  t.field({
    ...forWarehouseOrOperator(
      (args: { input: { warehouseId: string } }) => args.input.warehouseId,
      'Confirms a deposit: deploys a receipt token (symbol WHR) that expires 180 days later, and mints its kilograms to ' +
        'the farmer. Waits for the network up to a limit, then answers with the state reached. Errors: BAD_USER_INPUT, ' +
        'IDEMPOTENCY_CONFLICT, LEDGER_REJECTED.',
    ),
    type: CreateDepositPayload,
    args: { input: t.arg({ type: CreateDepositInput, required: true, description: 'The deposit.' }) },
    resolve: (_root, { input }, { caller, dependencies }) =>
      createDeposit(dependencies, subjectOf(caller), input),
  }),
);
