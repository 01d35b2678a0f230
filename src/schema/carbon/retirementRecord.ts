/**
 * RetirementRecord: the token's own record of one retirement, by custody or by another holder; and the list of
 * all tokens' records.
 */
import * as z from 'zod';
import type { FeedRecord } from '../../feed/followFeed.ts';
import { BASE_UNITS_PER_WHOLE, TOKEN_DECIMALS } from '../../ledger/units.ts';
import { addressKey } from '../../lib/addressKey.ts';
import {
  findRecord,
  findRecordsByTransaction,
  MAX_RECORDS_OF_TRANSACTION,
} from '../../resolvers/carbon/findRecord.ts';
import { findRecordBySerial } from '../../resolvers/carbon/serialNumbers.ts';
import { leafIndexOf } from '../../transparency/inclusion.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { required } from '../core/inputs.ts';
import { serialNumber, transactionHash } from '../core/text.ts';
import { ofProject } from './project.ts';
import { moment } from '../core/time.ts';
import { listRetirementRecords, type RecordCursor } from '../../resolvers/carbon/listRetirementRecords.ts';
import { filterOf } from '../core/filters.ts';
import { listCursors, cursorValues, pageOf } from '../core/paging.ts';
import { RetirementRecordFilterInput } from './recordFilter.ts';

export const RetirementRecordRef = builder.objectRef<FeedRecord>('RetirementRecord');

builder.node(RetirementRecordRef, {
  description:
    "One retirement as recorded by the project's token on the ledger network. Public and immutable.",
  id: { resolve: ({ tokenAddress, index }) => `${tokenAddress}:${index}` },
  loadOne: (id: string, { dependencies }) => {
    const [tokenAddress = '', index] = id.split(':');
    return findRecord(dependencies, tokenAddress, Number(index));
  },
  fields: (t) => ({
    tokenAddress: t.expose('tokenAddress', { type: 'Address', description: 'The address of the token.' }),
    index: t.exposeInt('index', {
      description: "The zero-based index of the record in the token's retirement list, without gaps.",
    }),
    retiredBy: t.expose('retiredBy', {
      type: 'Address',
      description:
        "The address whose balance was burned: the platform's custody address, or a holder's own address.",
    }),
    amount: t.expose('amountBaseUnits', {
      type: 'BaseUnits',
      description:
        'The burned amount in base units (10^18 base units are one tonne CO2e), as recorded by the token. Use this ' +
        'value for comparing with the network, and `tonnes` for display.',
    }),
    tonnes: t.field({
      type: 'Decimal',
      description: 'The same amount in tonnes CO2e. Has decimals only when a holder burned part of a tonne.',
      resolve: ({ amountBaseUnits }) => decimalTonnes(amountBaseUnits),
    }),
    timestamp: t.expose('timestamp', moment("The time of the burn, by the network's clock")),
    beneficiary: t.exposeString('beneficiary', {
      description: 'The beneficiary: a text label, not an address.',
    }),
    note: t.exposeString('note', { description: 'The remark on the record. May be empty.' }),
    txHash: t.exposeString('txHash', {
      nullable: true,
      description:
        "The hash of the burn's transaction. The token's record does not contain the hash: null until the hash is " +
        "found among the platform's own transactions or in the network's logs.",
    }),
    leafIndex: t.field({
      type: 'LeafNumber',
      description:
        "The zero-based index of the record's leaf in the transparency log of retirements. The record enters the " +
        'log a few seconds after it is readable here: see `transparencyLogs`.',
      resolve: leafIndexOf,
    }),
    project: t.field(ofProject('The project whose credits were retired.')),
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

builder.queryFields((t) => ({
  retirementRecord: t.field({
    ...forPublic(
      'The retirement record of a token at this index. Null when the platform has read no such record, which can ' +
        'be the case for a short time after the burn.',
    ),
    type: RetirementRecordRef,
    args: {
      tokenAddress: t.arg({ type: 'Address', required: true, description: 'The address of the token.' }),
      index: t.arg.int({
        required: true,
        validate: { schema: z.number().int().min(0, { error: 'must be 0 or more' }) },
        description: 'The zero-based index of the record in its token.',
      }),
    },
    resolve: (_root, { tokenAddress, index }, { dependencies }) =>
      findRecord(dependencies, tokenAddress, index),
  }),
  retirementRecordBySerial: t.field({
    ...forPublic(
      'The public record of the retirement that includes a serial number. Null when this platform retired no such ' +
        'tonne. Errors: LEDGER_UNAVAILABLE.',
    ),
    type: RetirementRecordRef,
    args: {
      serial: t.arg.string({
        required: true,
        validate: { schema: serialNumber },
        description:
          'The serial number of one tonne: the first or last number of a `SerialRange`, or a number in between.',
      }),
    },
    resolve: (_root, { serial }, { dependencies, remoteAddress }) =>
      findRecordBySerial(dependencies, serial, addressKey(remoteAddress)),
  }),
  retirementRecordsByTransaction: t.field({
    ...forPublic(
      'The public records of the retirements that a transaction made, oldest first, at most ' +
        `${MAX_RECORDS_OF_TRANSACTION}. Empty when the platform knows of none. A transaction of this platform ` +
        'makes at most one retirement.',
    ),
    type: [RetirementRecordRef],
    args: {
      txHash: t.arg.string(
        required(transactionHash, 'The hash of the transaction: 64 hexadecimal digits, with or without 0x.'),
      ),
    },
    resolve: (_root, { txHash }, { dependencies }) => findRecordsByTransaction(dependencies, txHash),
  }),
}));

const number = cursorValues.bigint.transform(BigInt);
const cursors = listCursors<RecordCursor>('retirementRecords', { timestamp: number, position: number });

builder.queryField('retirementRecords', (t) =>
  t.connection(
    {
      ...forPublic(
        'A paginated list of the retirement records of all tokens, newest first, as far as the platform has read ' +
          'them: seconds after they are final. Use `registry` for the current records and totals of one token, and ' +
          '`retirementFeed` to miss no record.',
      ),
      type: RetirementRecordRef,
      args: filterOf(RetirementRecordFilterInput, 'Filters the records. All are listed when omitted.'),
      resolve: (_root, args, { dependencies }) =>
        pageOf(args, cursors, listRetirementRecords(dependencies, args.filter ?? {})),
    },
    RetirementRecordConnection,
    RetirementRecordEdge,
  ),
);
