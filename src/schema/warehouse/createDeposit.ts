/**
 * createDeposit: issues a receipt token for a confirmed deposit.
 */
import { SUBJECT_FORM } from '../../identity/roles.ts';
import { createDeposit, dryRunDeposit, type DepositDryRun } from '../../resolvers/warehouse/createDeposit.ts';
import { needsApproval } from '../../resolvers/approvals/approvalPolicy.ts';
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { requestApproval } from '../../resolvers/approvals/requestApproval.ts';
import { ZERO_HASH } from '../../ledger/units.ts';
import type { Receipt } from '../../resolvers/warehouse/findReceipt.ts';
import { APPROVAL } from '../approvals/approvalRequest.ts';
import { forWarehouseOrOperator } from '../core/access.ts';
import { requireCaller, subjectOf } from '../core/caller.ts';
import { hashOf } from '../operations/networkTransaction.ts';
import { builder } from '../core/builder.ts';
import { DRY_RUN, DRY_RUN_ANSWER, IDEMPOTENCY_KEY, inputOf, optional, required } from '../core/inputs.ts';
import { ReceiptRef } from './receipt.ts';
import { label, subject } from '../core/text.ts';
import { moment } from '../core/time.ts';

const CreateDepositInput = builder.inputType('CreateDepositInput', {
  description: `A deposit as confirmed by the warehouse. Texts: at most 128 bytes of UTF-8 each. Ids: ${SUBJECT_FORM}.`,
  fields: (t) => ({
    farmerAddress: t.field({
      type: 'Address',
      required: true,
      description:
        'The address to which the kilograms are minted: either an address whose key the farmer holds, who then ' +
        "cashes out by signing (`prepareCashOutDeposit`), or the platform's custody signer " +
        "(`ledgerNetwork.custodyAddress`), which deposits the tokens that it holds without the farmer's signature (`cashOut`).",
    }),
    farmerId: t.string({
      validate: { schema: subject },
      description:
        "The subject of the farmer's token, who may then see the receipt and cash it out. When omitted, only " +
        'operators may.',
    }),
    commodityType: t.string(required(label, 'The stored commodity, such as Maize.')),
    quantityKg: t.field({
      type: 'Kilograms',
      required: true,
      description: 'The quantity in whole kilograms. The whole quantity is minted.',
    }),
    warehouseId: t.string(required(subject, "The warehouse: one of the warehouseIds of the caller's token.")),
    gradeClassification: t.string(required(label, 'The grade, such as Grade 1.')),
    valuationUSD: t.field({
      type: 'UsDollars',
      required: true,
      description: 'The value of the deposit, in whole US dollars.',
    }),
    warehouseLocation: t.string(optional(label, "The warehouse's location as text.")),
    countryCode: t.field({
      type: 'CountryCode',
      description:
        "The country of the receipt: ISO 3166-1 alpha-2, in upper case. Defaults to the platform's country.",
    }),
    harvestSeason: t.string(optional(label, 'The harvest season, such as 2025 long rains.')),
    inspectionReportHash: t.field({
      type: 'Hash32',
      description: 'The hash of the inspection report. Defaults to all zeros.',
    }),
    dryRun: t.boolean(DRY_RUN),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

interface Answer {
  receipt: Receipt | null;
  approval: ApprovalRequest | null;
  dryRun: (DepositDryRun & { needsApproval: boolean }) | null;
}

const DepositDryRunRef = builder.objectRef<NonNullable<Answer['dryRun']>>('DepositDryRun').implement({
  description: 'The result of a dry run of a deposit. Nothing was changed.',
  fields: (t) => ({
    assetId: t.exposeString('assetId', {
      description: 'The asset id that the receipt would have now. A later deposit has a later millisecond.',
    }),
    tokenName: t.exposeString('tokenName', { description: "The token's display name." }),
    depositDate: t.expose('depositDate', moment("The time of the deposit, by the network's clock")),
    expiryDate: t.expose('expiryDate', moment('The time the receipt would expire')),
    needsApproval: t.exposeBoolean('needsApproval', {
      description: 'Whether a second person would have to approve the deposit.',
    }),
  }),
});

const CreateDepositPayload = builder.objectRef<Answer>('CreateDepositPayload').implement({
  description:
    'The receipt in the state that it had reached when the response was sent, the request for approval, or the ' +
    'result of a dry run. The issuance of the receipt continues in the background.',
  fields: (t) => ({
    tokenAddress: t.field({
      type: 'Address',
      nullable: true,
      description:
        'The address of the token. Null while the network has not deployed the token, and for a dry run.',
      resolve: ({ receipt }) => receipt?.tokenAddress ?? null,
    }),
    txHash: t.string({
      nullable: true,
      description:
        'The hash of the transaction that deploys the token. Null while no transaction is signed, and for a dry ' +
        "run. `receipt { transactions }` also has the mint's transactions, with their states.",
      resolve: ({ receipt }, _args, context) =>
        receipt && hashOf(context, receipt.id, 'deployCommodityReceipt'),
    }),
    receipt: t.expose('receipt', {
      type: ReceiptRef,
      nullable: true,
      description: 'The receipt. Null for a dry run, and while the mutation awaits approval.',
    }),
    approvalRequest: t.expose('approval', {
      ...APPROVAL,
      description: `${APPROVAL.description} Null for a dry run.`,
    }),
    dryRun: t.expose('dryRun', {
      type: DepositDryRunRef,
      nullable: true,
      description: `${DRY_RUN_ANSWER} The network is not asked to deploy the token.`,
    }),
  }),
});

builder.mutationField('createDeposit', (t) =>
  t.field({
    ...forWarehouseOrOperator(
      'Confirms a deposit: deploys a receipt token (symbol WHR) that expires 180 days later, and mints its ' +
        'kilograms to the farmer. Waits for the network up to a limit, then returns the state reached. A large ' +
        'quantity may need approval (`approvalRequest`). Errors: ISSUANCE_CAP_EXCEEDED, IDEMPOTENCY_CONFLICT, ' +
        'LEDGER_REFUSED.',
    ),
    type: CreateDepositPayload,
    args: inputOf(CreateDepositInput, 'The confirmed deposit.'),
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
    resolve: async (_root, { input: { dryRun, ...given } }, { caller, dependencies }): Promise<Answer> => {
      const by = subjectOf(caller);
      const { receiptCountryCode, approvalPolicy } = dependencies;
      // A default that is left out and one that is given are the same, also for the idempotency key and for
      // the person who approves.
      const input = {
        ...given,
        countryCode: given.countryCode ?? receiptCountryCode,
        inspectionReportHash: given.inspectionReportHash ?? ZERO_HASH,
      };
      const asked = { operation: 'createDeposit', input } as const;
      const runDry = () => dryRunDeposit(dependencies, by, input);
      if (dryRun) {
        const found = { ...(await runDry()), needsApproval: needsApproval(approvalPolicy, asked) };
        return { receipt: null, approval: null, dryRun: found };
      }
      const check = async () => (await runDry()) !== null;
      const approval = await requestApproval(dependencies, requireCaller(caller), asked, check);
      if (approval) return { receipt: null, approval, dryRun: null };
      const receipt = await createDeposit(dependencies, by, input);
      return { receipt, approval, dryRun: null };
    },
  }),
);
