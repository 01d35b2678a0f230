/**
 * retirementRecordBySerial: whose tonne it is that has a serial number.
 */
import { findRecordBySerial } from '../../resolvers/carbon/serialNumbers.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { serialNumber } from '../core/text.ts';
import { RetirementRecordRef } from './retirementRecord.ts';

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
