/**
 * HolderAct: what a holder with a wallet of their own is to sign, and what became of it.
 */
import { unixSeconds } from '../clock.ts';
import type { UnsignedTransaction } from '../ledger/network/port.ts';
import type { Dependencies } from '../resolvers/dependencies.ts';
import { findCashOut } from '../resolvers/findCashOut.ts';
import { findHolderAct, readActTransactions, readHolderActs } from '../resolvers/findHolderAct.ts';
import type { HolderAct } from '../resolvers/findHolderAct.ts';
import { maySeeBuyer } from './caller.ts';
import { CashOutSessionRef, maySeeCashOut } from './cashOutSession.ts';
import type { Context } from './context.ts';
import { NetworkTransactionRef } from './networkTransaction.ts';
import { builder } from './platform.ts';

const HolderActKindEnum = builder.enumType('HolderActKind', {
  description: 'What the holder does by signing.',
  values: {
    RETIREMENT: { value: 'retire', description: "Burns the holder's own credits, for ever." },
    APPROVAL: {
      value: 'approve',
      description:
        'Lets the settlement contract take exactly what the deposit of a cash-out will; only where the network needs it.',
    },
    DEPOSIT: {
      value: 'initiateOffRamp',
      description: "Puts the holder's receipt tokens into custody of the settlement contract.",
    },
  },
});

const HolderActStateEnum = builder.enumType('HolderActState', {
  description: 'How far it is.',
  values: {
    PREPARED: { description: 'Waits for `submitSigned`; after `unsigned.validUntil` it is too late.' },
    SUBMITTED: { description: 'Signed, and on its way; it goes on by itself.' },
    LANDED: { description: 'Final, with its effect.' },
    REFUSED: { description: 'Final, without effect: the contract refused it.' },
    EXPIRED: {
      description:
        "What was signed can't land any more, and only the holder could sign again. What the wallet has sent in its " +
        'place goes to `submitSigned`, too; prepare it anew only after looking that there is no such thing.',
    },
    NEEDS_REVIEW: { description: 'Whether it landed can not be decided by rule: an operator does.' },
  },
});

const UnsignedFormatEnum = builder.enumType('UnsignedTransactionFormat', {
  description: 'The form in which wallets of the network take a transaction.',
  values: {
    STELLAR_XDR: {
      value: 'stellar-xdr',
      description: 'A base64 TransactionEnvelope. Give back the same, with the signature in it.',
    },
    EVM_CALL: {
      value: 'evm-call',
      description:
        'JSON of chainId, from, to, data, value, nonce, gas and fees. Give back the signed raw transaction, 0x….',
    },
    EMBEDDED_PAYLOAD: {
      value: 'embedded-payload',
      description:
        'JSON, to be signed with ed25519 as it stands, in UTF-8. Give back base64 of the 64 bytes of the signature ' +
        "followed by the JSON's.",
    },
  },
});

const UnsignedTransactionRef = builder.objectRef<UnsignedTransaction>('UnsignedTransaction').implement({
  description: 'What the wallet signs.',
  fields: (t) => ({
    format: t.expose('format', { type: UnsignedFormatEnum, description: 'The form of the payload.' }),
    payload: t.exposeString('payload', { description: 'The transaction, in that form.' }),
    validUntil: t.expose('validUntil', {
      type: 'UnixTime',
      nullable: true,
      description:
        "After this moment of the network's clock it can't land, in Unix seconds; null where it does not expire.",
    }),
  }),
});

export const HolderActRef = builder.objectRef<HolderAct>('HolderAct');

/** Whoever had a retirement prepared, whoever may see the cash-out; and operators. */
export async function findVisibleAct(
  { caller, dependencies }: Context<Dependencies>,
  id: string,
): Promise<HolderAct | null> {
  const act = await findHolderAct(dependencies, id);
  if (act === null) return null;
  if (act.cashOutSessionId === null) return maySeeBuyer(caller, act.preparedBy) ? act : null;
  const session = await findCashOut(dependencies, act.cashOutSessionId);
  return session !== null && maySeeCashOut(caller, session) ? act : null;
}

builder.node(HolderActRef, {
  description:
    "An act that only a holder's own signature can do: prepared here, signed by the holder's wallet, and given back " +
    'with `submitSigned`. Seen by the token that had it prepared, the farmer of its cash-out, and operators; what a ' +
    'retirement became is public in the registry.',
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, context) => findVisibleAct(context, id),
  fields: (t) => ({
    kind: t.expose('kind', { type: HolderActKindEnum, description: 'What is done by signing.' }),
    state: t.expose('state', { type: HolderActStateEnum, description: 'How far it is.' }),
    holder: t.string({
      description: 'Whose tokens they are, and who signs: an address.',
      resolve: ({ unsigned }) => unsigned.holder,
    }),
    tokenAddress: t.string({
      description: 'The token that it is about.',
      resolve: ({ call }) => call.tokenAddress,
    }),
    amount: t.field({
      type: 'BaseUnits',
      description: 'How much of it, in base units.',
      resolve: ({ call }) => call.amount,
    }),
    beneficiary: t.string({
      nullable: true,
      description: 'Who a retirement is for: a label, not an address. Null for other kinds.',
      resolve: ({ call }) => (call.kind === 'retire' ? call.beneficiary : null),
    }),
    note: t.string({
      nullable: true,
      description: 'The remark of a retirement; may be empty. Null for other kinds.',
      resolve: ({ call }) => (call.kind === 'retire' ? call.note : null),
    }),
    unsigned: t.field({
      type: UnsignedTransactionRef,
      description: 'What the wallet signs.',
      resolve: ({ unsigned }) => unsigned,
    }),
    txHash: t.string({
      nullable: true,
      description:
        'The hash of the transaction that landed, or of the latest that was signed. Null until one came back.',
      resolve: async (act, _args, { dependencies }) =>
        act.submission?.txHash ?? (await readActTransactions(dependencies, act)).at(-1)?.txHash ?? null,
    }),
    recordIndex: t.int({
      nullable: true,
      description:
        "The index of a retirement's record in the token; null until it has LANDED, and for other kinds.",
      resolve: ({ recordIndex }) => recordIndex,
    }),
    message: t.string({
      nullable: true,
      description: 'Why it was refused, has expired or needs review, in words; null otherwise.',
      resolve: ({ submission }) => submission?.message ?? null,
    }),
    cashOutSession: t.field({
      type: CashOutSessionRef,
      nullable: true,
      description: 'The cash-out that it belongs to; null for a retirement.',
      resolve: ({ cashOutSessionId }, _args, { dependencies }) =>
        cashOutSessionId === null ? null : findCashOut(dependencies, cashOutSessionId),
    }),
    transactions: t.field({
      type: [NetworkTransactionRef],
      description:
        'Every signed transaction that came back for it, oldest first; at most one of them landed.',
      resolve: (act, _args, { dependencies }) => readActTransactions(dependencies, act),
    }),
    preparedAt: t.field({
      type: 'UnixTime',
      description: 'When it was prepared, in Unix seconds.',
      resolve: ({ createdAt }) => unixSeconds(createdAt),
    }),
  }),
});

builder.objectField(CashOutSessionRef, 'holderActs', (t) =>
  t.field({
    type: [HolderActRef],
    description:
      'What was prepared for the holder to sign, oldest first: approvals, where the network needs them, and deposits. ' +
      'Empty when custody deposits. What to sign next comes from prepareCashOutDeposit, sent again with the same key.',
    resolve: ({ id }, _args, { dependencies }) => readHolderActs(dependencies, id),
  }),
);
