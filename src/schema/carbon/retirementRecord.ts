/**
 * RetirementRecord: the token's own record of one retirement, by custody or by another holder.
 */
import * as z from 'zod';
import type { FeedRecord } from '../../feed/followFeed.ts';
import { BASE_UNITS_PER_WHOLE, TOKEN_DECIMALS } from '../../ledger/units.ts';
import {
  findRecord,
  findRecordsByTransaction,
  MAX_RECORDS_OF_TRANSACTION,
} from '../../resolvers/carbon/findRecord.ts';
import { findRecordBySerial } from '../../resolvers/carbon/serialNumbers.ts';
import { leafIndexOf } from '../../transparency/inclusion.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { keyword, serialNumber } from '../core/text.ts';
import { projectOf, ProjectRef } from './project.ts';
import { moment } from '../core/time.ts';

export const RetirementRecordRef = builder.objectRef<FeedRecord>('RetirementRecord');

builder.node(RetirementRecordRef, {
  description:
    "One retirement as the project's token records it on the ledger network: public and immutable.",
  id: { resolve: ({ tokenAddress, index }) => `${tokenAddress}:${index}` },
  loadOne: (id: string, { dependencies }) => {
    const [tokenAddress = '', index] = id.split(':');
    return findRecord(dependencies, tokenAddress, Number(index));
  },
  fields: (t) => ({
    tokenAddress: t.expose('tokenAddress', { type: 'Address', description: "The token's address." }),
    index: t.exposeInt('index', {
      description: "Its index in the token's retirement list, from 0 without gaps.",
    }),
    retiredBy: t.expose('retiredBy', {
      type: 'Address',
      description: "The address whose balance was burned: the platform's custody, or a holder's own.",
    }),
    amount: t.expose('amount', {
      type: 'BaseUnits',
      description:
        'The burned amount in base units (10^18 are a tonne), as the token has it: for comparing with the network. To show it, use `tonnes`.',
    }),
    tonnes: t.field({
      type: 'Decimal',
      description:
        'The same as `amount`, in tonnes CO2e; with decimals only when a holder burned part of a tonne.',
      resolve: ({ amount }) => decimalTonnes(amount),
    }),
    timestamp: t.expose('timestamp', moment("When it was burned by the network's clock")),
    beneficiary: t.exposeString('beneficiary', {
      description: 'The beneficiary: a text label, not an address.',
    }),
    note: t.exposeString('note', { description: 'The remark; may be empty.' }),
    txHash: t.exposeString('txHash', {
      nullable: true,
      description:
        "The hash of the burn. The record does not contain it: null until it is found among the platform's own transactions, or in the network's logs.",
    }),
    leafIndex: t.field({
      type: 'LeafNumber',
      description:
        'The index of its leaf in the transparency log of retirements, from 0. The record enters ' +
        'the log a few seconds after it is readable here: see `transparencyLogs`.',
      resolve: leafIndexOf,
    }),
    project: t.field({
      type: ProjectRef,
      description: 'The project whose credits were retired.',
      resolve: ({ projectId }, _args, context) => projectOf(context, projectId),
    }),
  }),
});

export const RetirementRecordEdge = builder.edgeObject({
  type: RetirementRecordRef,
  name: 'RetirementRecordEdge',
});
export const RetirementRecordConnection = builder.connectionObject(
  { type: RetirementRecordRef, name: 'RetirementRecordConnection' },
  RetirementRecordEdge,
);

/**
 * Base units as tonnes, exactly. Records of other accounts may have a negative amount, because the token
 * accepts it.
 */
export function decimalTonnes(amount: bigint): string {
  if (amount < 0n) return `-${decimalTonnes(-amount)}`;
  const whole = amount / BASE_UNITS_PER_WHOLE;
  const rest = (amount % BASE_UNITS_PER_WHOLE).toString().padStart(TOKEN_DECIMALS, '0').replace(/0+$/, '');
  return rest === '' ? whole.toString() : `${whole}.${rest}`;
}

builder.queryField('retirementRecord', (t) =>
  t.field({
    ...forPublic(
      'One retirement record by its token and its index there; null when the platform has read none, which may be for a moment ' +
        'after the burn.',
    ),
    type: RetirementRecordRef,
    nullable: true,
    args: {
      tokenAddress: t.arg({ type: 'Address', required: true, description: "The token's address." }),
      index: t.arg.int({
        required: true,
        validate: { schema: z.number().int().min(0, { error: 'must be 0 or more' }) },
        description: "The record's index in its token, from 0.",
      }),
    },
    resolve: (_root, { tokenAddress, index }, { dependencies }) =>
      findRecord(dependencies, tokenAddress, index),
  }),
);

builder.queryField('retirementRecordBySerial', (t) =>
  t.field({
    ...forPublic(
      'The public record of the retirement that a serial number belongs to; null when this platform retired no such tonne. ' +
        'Errors: LEDGER_UNAVAILABLE.',
    ),
    type: RetirementRecordRef,
    nullable: true,
    args: {
      serial: t.arg.string({
        required: true,
        validate: { schema: serialNumber },
        description: "One tonne's serial number: an end of a `SerialRange`, or a number between its ends.",
      }),
    },
    resolve: (_root, { serial }, { dependencies }) => findRecordBySerial(dependencies, serial),
  }),
);

builder.queryField('retirementRecordsByTransaction', (t) =>
  t.field({
    ...forPublic(
      `The public records of the retirements that a transaction made, oldest first, ${MAX_RECORDS_OF_TRANSACTION} at most; empty ` +
        'when the platform knows of none. This platform makes one in a transaction.',
    ),
    type: [RetirementRecordRef],
    nullable: true,
    args: {
      txHash: t.arg.string({
        required: true,
        validate: { schema: keyword },
        description: "The transaction's hash, as `txHash` shows it: at most 128 characters.",
      }),
    },
    resolve: (_root, { txHash }, { dependencies }) => findRecordsByTransaction(dependencies, txHash),
  }),
);
