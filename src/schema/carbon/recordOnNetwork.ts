/**
 * RetirementRecord.onNetwork: the record as its token has it at this moment.
 */
import type { RetirementRecord } from '../../ledger/network/port.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { readRecordOnNetwork } from '../../resolvers/carbon/publicNodeReads.ts';
import { builder } from '../core/builder.ts';
import { RetirementRecordRef } from './retirementRecord.ts';
import { moment } from '../core/time.ts';

const RecordOnNetwork = builder.objectRef<RetirementRecord>('RecordOnNetwork').implement({
  description: 'A retirement record as the token has it, read from the network at the time of the request.',
  fields: (t) => ({
    retiredBy: t.expose('retiredBy', {
      type: 'Address',
      description: 'The address whose balance was burned.',
    }),
    amount: t.expose('amount', {
      type: 'BaseUnits',
      description: 'The burned amount, in base units (10^18 base units are one tonne CO2e).',
    }),
    timestamp: t.expose('timestamp', moment("The time of the burn, by the network's clock")),
    beneficiary: t.exposeString('beneficiary', { description: 'The beneficiary.' }),
    note: t.exposeString('note', { description: 'The remark on the record. May be empty.' }),
  }),
});

builder.objectFields(RetirementRecordRef, (t) => ({
  onNetwork: t.field({
    type: RecordOnNetwork,
    nullable: true,
    description:
      'The same record, read from the token now. Null when the token has no such record. Use this field to prove ' +
      'a single record; lists of records do not need it, because tokens never change records. Errors: ' +
      'LEDGER_UNAVAILABLE.',
    resolve: ({ tokenAddress, index }, _args, { dependencies, remoteAddress }) =>
      readRecordOnNetwork(dependencies, tokenAddress, index, addressKey(remoteAddress)),
  }),
}));
