/**
 * HolderAct: a transaction for a holder's own wallet to sign, and its outcome.
 */
import { FAMILIES } from '../../ledger/network/families.ts';
import type { UnsignedTransaction } from '../../ledger/network/port.ts';
import {
  findHolderAct,
  findHolderActs,
  readActsOfSessions,
  readActTransactions,
  type HolderAct,
} from '../../resolvers/wallets/findHolderAct.ts';
import type { SubmissionTransaction } from '../../resolvers/carbon/findRetirement.ts';
import { createBatch, createRequiredBatch } from '../core/batch.ts';
import { maySeeBuyer, maySeeFarmer } from '../core/caller.ts';
import { OffRampSessionRef, sessionOf } from '../warehouse/offRampSession.ts';
import type { Context } from '../core/context.ts';
import { NetworkTransactionRef } from '../operations/networkTransaction.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { visible } from '../core/visible.ts';
import { moment, momentOrNull } from '../core/time.ts';

const HolderActKindEnum = builder.enumType('HolderActKind', {
  description: 'The effect that the signature authorizes.',
  values: {
    RETIREMENT: { value: 'retire', description: "Burns the holder's own credits, permanently." },
    ALLOWANCE: {
      value: 'setAllowance',
      description:
        "Lets the settlement contract take exactly the tokens of an off-ramp session's deposit. Only on networks " +
        'that need it.',
    },
    DEPOSIT: {
      value: 'depositOffRamp',
      description: "Deposits the holder's receipt tokens into the settlement contract.",
    },
  },
});

const HolderActStateEnum = enumOf('HolderActState', "The state of a holder's act.", {
  PREPARED:
    'The act waits for `submitSigned`, until `unsigned.expiresAt`. An act that was never submitted stays PREPARED.',
  SUBMITTED: 'The act is signed and being processed in the background.',
  LANDED: 'The act is final and had its effect.',
  REFUSED: 'The act is final and had no effect: the contract refused it.',
  EXPIRED:
    'The signed transaction can no longer land, and only the holder can sign another one. If the wallet has ' +
    'sent a replacement, pass the replacement to `submitSigned`. Prepare a new act only after checking that ' +
    'there is no replacement.',
  NEEDS_REVIEW: 'No rule can decide whether the act landed. An operator has to decide.',
});

const UnsignedFormatEnum = enumOf(
  'UnsignedTransactionFormat',
  'The format in which wallets of the network accept a transaction.',
  Object.fromEntries(FAMILIES.map(({ walletFormat: { name, description } }) => [name, description])),
);

const UnsignedTransactionRef = builder.objectRef<UnsignedTransaction>('UnsignedTransaction').implement({
  description: 'The transaction for the wallet to sign.',
  fields: (t) => ({
    format: t.expose('format', { type: UnsignedFormatEnum, description: 'The format of the payload.' }),
    payload: t.exposeString('payload', { description: 'The transaction, in this format.' }),
    expiresAt: t.expose(
      'validUntil',
      momentOrNull(
        "The latest time at which the transaction can land, by the network's clock",
        'Null when the transaction does not expire',
      ),
    ),
  }),
});

/** The act of a list's item. */
export const actOf = createRequiredBatch("holder's act", findHolderActs);
const actsOfSession = createBatch(readActsOfSessions);
const transactionsOfAct = createBatch(readActTransactions);

async function readSubmitted(context: Context, act: HolderAct): Promise<SubmissionTransaction[]> {
  return (act.submission !== null && (await transactionsOfAct(context, act))) || [];
}

export const HolderActRef = builder.objectRef<HolderAct>('HolderAct');

/** Visible to the retirement's preparer, to callers that may see the off-ramp session, and to operators. */
export const findVisibleAct = visible(findHolderAct, (caller, { offRampSessionId, preparedBy, farmerId }) =>
  offRampSessionId === null ? maySeeBuyer(caller, preparedBy) : maySeeFarmer(caller, farmerId),
);

builder.node(HolderActRef, {
  ...ownedBy<HolderAct>(({ offRampSessionId, preparedBy, farmerId }) => [
    offRampSessionId === null ? preparedBy : farmerId,
  ]),
  description:
    "An act that only a holder's own signature can authorize: prepared by this platform, signed by the holder's " +
    'wallet, and returned with `submitSigned`. Visible to the caller who prepared a retirement, to the farmer ' +
    'of the off-ramp session, and to operators. The record of a retirement is public in the registry.',
  id: { resolve: ({ id }) => id },
  loadOne: findVisibleAct,
  fields: (t) => ({
    kind: t.expose('kind', {
      type: HolderActKindEnum,
      description: 'The effect that the signature authorizes.',
    }),
    state: t.expose('state', { type: HolderActStateEnum, description: 'The state of the act.' }),
    holderAddress: t.field({
      type: 'Address',
      description: 'The address that holds the tokens and whose key signs.',
      resolve: ({ unsigned }) => unsigned.holder,
    }),
    tokenAddress: t.field({
      type: 'Address',
      description: 'The address of the token.',
      resolve: ({ call }) => call.tokenAddress,
    }),
    amount: t.field({
      type: 'BaseUnits',
      description: 'The amount, in base units.',
      resolve: ({ call }) => call.amount,
    }),
    beneficiary: t.string({
      nullable: true,
      description: 'The beneficiary of a retirement: a text label, not an address. Null for other kinds.',
      resolve: ({ call }) => (call.kind === 'retire' ? call.beneficiary : null),
    }),
    note: t.string({
      nullable: true,
      description: 'The remark of a retirement. May be empty. Null for other kinds.',
      resolve: ({ call }) => (call.kind === 'retire' ? call.note : null),
    }),
    unsigned: t.field({
      type: UnsignedTransactionRef,
      description: 'The transaction for the wallet to sign.',
      resolve: ({ unsigned }) => unsigned,
    }),
    txHash: t.string({
      nullable: true,
      description:
        'The hash of the transaction that landed, or else of the latest signed transaction. Null until a ' +
        'transaction was submitted. `transactions` has all of them, with their states.',
      resolve: async (act, _args, context) =>
        act.submission?.txHash ?? (await readSubmitted(context, act)).at(-1)?.txHash ?? null,
    }),
    recordIndex: t.int({
      nullable: true,
      description:
        "The index of a retirement's record in the token. Null until the state is LANDED, and for other kinds.",
      resolve: ({ recordIndex }) => recordIndex,
    }),
    stateReason: t.string({
      nullable: true,
      description:
        'The reason why the act was refused, has expired or needs review, as text. Null in other states.',
      // The reason of a PENDING submission is about a node, for operators.
      resolve: ({ submission }) =>
        submission?.state === 'PENDING' ? null : (submission?.stateReason ?? null),
    }),
    offRampSession: t.field({
      type: OffRampSessionRef,
      nullable: true,
      description: 'The off-ramp session of the act. Null for a retirement.',
      resolve: ({ offRampSessionId }, _args, context) =>
        offRampSessionId === null ? null : sessionOf(context, offRampSessionId),
    }),
    transactions: t.field({
      type: [NetworkTransactionRef],
      description:
        'All signed transactions that were submitted for the act, oldest first. At most one of them landed.',
      resolve: (act, _args, context) => readSubmitted(context, act),
    }),
    createdAt: t.expose('createdAt', moment('The time the act was prepared')),
  }),
});

builder.objectField(OffRampSessionRef, 'holderActs', (t) =>
  t.field({
    type: [HolderActRef],
    description:
      'The acts that were prepared for the holder to sign, at most the latest 100, oldest first: deposits, and ' +
      'allowances on networks that need them. Empty when custody deposits. To get the act to sign next, send `prepareCashOutDeposit` ' +
      'again with the same key.',
    resolve: async ({ id }, _args, context) => (await actsOfSession(context, id)) ?? [],
  }),
);
