/**
 * retirementRecords: the retirement records of all tokens.
 */
import { listRetirementRecords, type RecordCursor } from '../../resolvers/carbon/listRetirementRecords.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { listCursors, cursorValues, pageOf } from '../core/paging.ts';
import { recordFilterOf, RetirementRecordFilterInput } from './recordFilter.ts';
import { RetirementRecordConnection, RetirementRecordEdge, RetirementRecordRef } from './retirementRecord.ts';

const number = cursorValues.bigint.transform(BigInt);
const cursors = listCursors<RecordCursor>('retirementRecords', { timestamp: number, position: number });

builder.queryField('retirementRecords', (t) =>
  t.connection(
    {
      ...forPublic(
        'The retirement records of all tokens, newest first, a page at a time, as far as the platform has read them: ' +
          'seconds after they are final. For one token as it is now, with its totals, use `registry`; to miss none, ' +
          '`retirementFeed`.',
      ),
      type: RetirementRecordRef,
      nullable: true,
      args: {
        filter: t.arg({ type: RetirementRecordFilterInput, description: 'Which records; all when omitted.' }),
      },
      resolve: (_root, args, { dependencies }) => {
        const filter = recordFilterOf(args.filter);
        return pageOf(args, cursors, listRetirementRecords(dependencies, filter));
      },
    },
    RetirementRecordConnection,
    RetirementRecordEdge,
  ),
);
