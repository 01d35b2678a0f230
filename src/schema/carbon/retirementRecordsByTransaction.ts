/**
 * retirementRecordsByTransaction: what a transaction has retired.
 */
import { findRecordsByTransaction, MAX_RECORDS_OF_TRANSACTION } from '../../resolvers/carbon/findRecord.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { keyword } from '../core/text.ts';
import { RetirementRecordRef } from './retirementRecord.ts';

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
