/**
 * offRampSessions: a farmer's own sessions, or all of them for operators.
 */
import { listOffRampSessions } from '../../resolvers/warehouse/offRamp/listOffRampSessions.ts';
import { OVERDUE_RULE } from '../../resolvers/operations/overdueWork.ts';
import { forRoles } from '../core/access.ts';
import { isOperator, subjectOf } from '../core/caller.ts';
import { anyOf, FILTER_RULE, filterOf, within } from '../core/filters.ts';
import { subject } from '../core/text.ts';
import { OffRampStateEnum } from './offRampEnums.ts';
import { OffRampSessionRef } from './offRampSession.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';

const OffRampSessionFilterInput = builder.inputType('OffRampSessionFilter', {
  description: `An off-ramp session ${FILTER_RULE}`,
  fields: (t) => ({
    receiptTokenAddresses: t.field({
      type: ['Address'],
      ...anyOf('sessions of receipts with one of these token addresses'),
    }),
    farmerIds: t.stringList(anyOf('sessions of receipts of farmers with one of these subjects', subject)),
    states: t.field({ type: [OffRampStateEnum], description: 'Only sessions in one of these states.' }),
    stranded: t.boolean({
      description:
        'true: only sessions that wait for a ramp provider other than the configured one; false: only the other sessions.',
    }),
    overdue: t.boolean({
      description: `true: only overdue sessions (${OVERDUE_RULE}); false: only the other sessions.`,
    }),
    ...within(t, 'sessions requested'),
    minTokenAmount: t.field({
      type: 'Kilograms',
      description: 'Only sessions of at least this many kilograms.',
    }),
    maxTokenAmount: t.field({
      type: 'Kilograms',
      description: 'Only sessions of at most this many kilograms.',
    }),
  }),
});

const cursors = keysetCursors('offRampSessions');

builder.queryField('offRampSessions', (t) =>
  t.connection(
    {
      ...forRoles(
        ['farmer', 'operator'],
        'A paginated list of off-ramp sessions, newest first. Farmers see their own sessions, operators all. ' +
          'Filtering by a receipt that does not exist, or that belongs to another farmer, gives an empty list.',
      ),
      type: OffRampSessionRef,
      args: filterOf(
        OffRampSessionFilterInput,
        'Filters the off-ramp sessions. All that the caller may see are listed when omitted.',
      ),
      resolve: (_root, args, { caller, dependencies }) => {
        const filter = { ...args.filter, visibleTo: isOperator(caller) ? null : subjectOf(caller) };
        return pageOf(args, cursors, listOffRampSessions(dependencies, filter));
      },
    },
    ...listNames('OffRampSession'),
  ),
);
