/**
 * RetirementRecord.onNetwork: the record as its token has it at this moment.
 */
import type { RetirementRecord } from '../../ledger/network/port.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { readRecordOnNetwork } from '../../resolvers/carbon/readRecordOnNetwork.ts';
import { builder } from '../core/builder.ts';
import { RetirementRecordRef } from './retirementRecord.ts';
import { moment } from '../core/time.ts';

const RecordOnNetwork = builder.objectRef<RetirementRecord>('RecordOnNetwork').implement({
  description: 'A retirement record as its token has it, read from the network when it was asked for.',
  fields: (t) => ({
    retiredBy: t.expose('retiredBy', {
      type: 'Address',
      description: 'The address whose balance was burned.',
    }),
    amount: t.expose('amount', {
      type: 'BaseUnits',
      description: 'The burned amount in base units (10^18 are a tonne CO2e).',
    }),
    timestamp: t.expose('timestamp', moment("When it was burned by the network's clock")),
    beneficiary: t.exposeString('beneficiary', { description: 'The beneficiary.' }),
    note: t.exposeString('note', { description: 'The remark; may be empty.' }),
  }),
});

builder.objectFields(RetirementRecordRef, (t) => ({
  onNetwork: t.field({
    type: RecordOnNetwork,
    nullable: true,
    description:
      'The same record, read from its token now; null when the token has none there. For proving one record: lists of ' +
      'records need no such read, because tokens never change them. Errors: LEDGER_UNAVAILABLE.',
    resolve: ({ tokenAddress, index }, _args, { dependencies, remoteAddress }) =>
      readRecordOnNetwork(dependencies, tokenAddress, index, addressKey(remoteAddress)),
  }),
}));
