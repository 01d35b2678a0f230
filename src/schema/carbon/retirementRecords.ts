/**
 * retirementRecords: the retirement records of all tokens.
 */
import { listRetirementRecords, type RecordCursor } from '../../resolvers/carbon/listRetirementRecords.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { filterOf } from '../core/filters.ts';
import { listCursors, cursorValues, pageOf } from '../core/paging.ts';
import { RetirementRecordFilterInput } from './recordFilter.ts';
import { RetirementRecordConnection, RetirementRecordEdge, RetirementRecordRef } from './retirementRecord.ts';

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
