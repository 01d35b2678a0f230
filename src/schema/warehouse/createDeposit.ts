/**
 * createDeposit: issues a receipt token for a confirmed deposit.
 */
import { SUBJECT_FORM } from '../../identity/roles.ts';
import {
  createDeposit,
  rehearseDeposit,
  type RehearsedDeposit,
} from '../../resolvers/warehouse/createDeposit.ts';
import { isLargeDeposit } from '../../resolvers/approvals/approvalPolicy.ts';
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { requestApproval } from '../../resolvers/approvals/requestApproval.ts';
import type { Receipt } from '../../resolvers/warehouse/findReceipt.ts';
import { APPROVAL } from '../approvals/approvalRequest.ts';
import { forWarehouseOrOperator } from '../core/access.ts';
import { requireCaller, subjectOf } from '../core/caller.ts';
import { DRY_RUN, DRY_RUN_ANSWER } from '../core/dryRun.ts';
import { IDEMPOTENCY_KEY } from '../core/idempotency.ts';
import { hashOf } from '../operations/networkTransaction.ts';
import { builder } from '../core/builder.ts';
import { ReceiptRef } from './receipt.ts';
import { label, optionalLabel, subject } from '../core/text.ts';
import { moment } from '../core/time.ts';

const CreateDepositInput = builder.inputType('CreateDepositInput', {
  description: `A deposit as confirmed by the warehouse. Texts: at most 128 bytes of UTF-8 each. Ids: ${SUBJECT_FORM}.`,
  fields: (t) => ({
    farmerAddress: t.field({
      type: 'Address',
      required: true,
      description:
        'The address that the kilograms are minted to: one whose key the farmer holds, who then cashes out by signing ' +
        "(`prepareCashOutDeposit`), or the platform's custody signer (`ledgerNetwork.custodyAddress`), which deposits by " +
        'itself what it holds (`cashOut`).',
    }),
    farmerId: t.string({
      validate: { schema: subject },
      description:
        "The subject of the farmer's token, who may then see the receipt and cash it out. Without it, only operators may.",
    }),
    commodityType: t.string({
      required: true,
      validate: { schema: label },
      description: 'What is stored, such as Maize.',
    }),
    quantityKg: t.field({
      type: 'Kilograms',
      required: true,
      description: 'Whole kilograms. All of them are minted.',
    }),
    warehouseId: t.string({
      required: true,
      validate: { schema: subject },
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
      description: "The warehouse's location as text.",
    }),
    countryCode: t.field({
      type: 'CountryCode',
      description: "ISO 3166-1 alpha-2, in upper case; the platform's own by default.",
    }),
    harvestSeason: t.string({
      validate: { schema: optionalLabel },
      description: 'When it was harvested, such as 2025 long rains.',
    }),
    inspectionReportHash: t.field({
      type: 'Hash32',
      description: 'Hash of the inspection report; all zero by default.',
    }),
    dryRun: t.boolean(DRY_RUN),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

interface Answer {
  receipt: Receipt | null;
  approval: ApprovalRequest | null;
  dryRun: (RehearsedDeposit & { needsApproval: boolean }) | null;
}

const DepositDryRunRef = builder.objectRef<NonNullable<Answer['dryRun']>>('DepositDryRun').implement({
  description: 'What a deposit would become. Nothing was changed.',
  fields: (t) => ({
    assetId: t.exposeString('assetId', {
      description: 'The asset id that it would have now: a later deposit has a later millisecond.',
    }),
    tokenName: t.exposeString('tokenName', { description: "The token's display name." }),
    depositDate: t.expose('depositDate', moment("The time of the deposit, by the network's clock")),
    expiryDate: t.expose('expiryDate', moment('When it would expire')),
    needsApproval: t.exposeBoolean('needsApproval', {
      description: 'Whether a second person would have to approve it.',
    }),
  }),
});

const CreateDepositPayload = builder.objectRef<Answer>('CreateDepositPayload').implement({
  description:
    'The receipt in the state that it had reached when the response was sent, while its issuance continues in the ' +
    'background; or the request for approval; or what it would be.',
  fields: (t) => ({
    tokenAddress: t.field({
      type: 'Address',
      nullable: true,
      description: "The token's address; null while the network has not deployed it, and for a dry run.",
      resolve: ({ receipt }) => receipt?.tokenAddress ?? null,
    }),
    txHash: t.string({
      nullable: true,
      description:
        'The hash of the transaction that deploys the token; null while none is signed, and for a dry run. Those of the mint too, with their states, are in `receipt { transactions }`.',
      resolve: ({ receipt }, _args, { dependencies }) =>
        receipt && (receipt.deployTxHash ?? hashOf(dependencies, receipt.id, 'deployCommodityReceipt')),
    }),
    receipt: t.expose('receipt', {
      type: ReceiptRef,
      nullable: true,
      description: 'The receipt; null for a dry run, and while it awaits approval.',
    }),
    approvalRequest: t.expose('approval', APPROVAL),
    dryRun: t.expose('dryRun', {
      type: DepositDryRunRef,
      nullable: true,
      description: `${DRY_RUN_ANSWER} The network is not asked to deploy it.`,
    }),
  }),
});

builder.mutationField('createDeposit', (t) =>
  t.field({
    ...forWarehouseOrOperator(
      (args: { input: { warehouseId: string } }) => args.input.warehouseId,
      'Confirms a deposit: deploys a receipt token (symbol WHR) that expires 180 days later, and mints its kilograms to ' +
        'the farmer. Waits for the network for a limited time, then returns the state reached. A large quantity may need ' +
        'approval (`approvalRequest`). Errors: ISSUANCE_CAP_EXCEEDED, IDEMPOTENCY_CONFLICT, LEDGER_REFUSED.',
    ),
    type: CreateDepositPayload,
    nullable: true,
    args: { input: t.arg({ type: CreateDepositInput, required: true, description: 'The deposit.' }) },
    recordedInput: {
      targets: ['farmerId', 'warehouseId'],
      shown: ['commodityType', 'quantityKg', 'countryCode', 'dryRun', 'idempotencyKey'],
      hidden: [
        'farmerAddress',
        'gradeClassification',
        'valuationUSD',
        'warehouseLocation',
        'harvestSeason',
        'inspectionReportHash',
      ],
    },
    resolve: async (_root, { input: { dryRun, ...input } }, { caller, dependencies }): Promise<Answer> => {
      const by = subjectOf(caller);
      const { receiptCountryCode, approvalPolicy } = dependencies;
      const rehearsed = () => rehearseDeposit(dependencies, by, input, receiptCountryCode);
      if (dryRun === true) {
        const needsApproval = isLargeDeposit(approvalPolicy, input);
        return { receipt: null, approval: null, dryRun: { ...(await rehearsed()), needsApproval } };
      }
      const asked = { operation: 'createDeposit', input } as const;
      const check = async () => (await rehearsed()) !== null;
      const approval = await requestApproval(dependencies, requireCaller(caller), asked, check);
      if (approval) return { receipt: null, approval, dryRun: null };
      const receipt = await createDeposit(dependencies, by, input, receiptCountryCode);
      return { receipt, approval, dryRun: null };
    },
  }),
);
