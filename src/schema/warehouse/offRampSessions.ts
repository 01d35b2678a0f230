/**
 * offRampSessions: a farmer's own sessions, or all of them for operators.
 */
import { listOffRampSessions } from '../../resolvers/warehouse/offRamp/listOffRampSessions.ts';
import { OVERDUE_RULE } from '../../resolvers/operations/overdueWork.ts';
import { forRoles } from '../core/access.ts';
import { isOperator, subjectOf } from '../core/caller.ts';
import { FILTER_RULE, filterList, oneOf, subjectList } from '../core/filters.ts';
import { OffRampStateEnum } from './offRampEnums.ts';
import { OffRampSessionRef } from './offRampSession.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { fromTime, untilTime } from '../core/time.ts';

const OffRampSessionFilterInput = builder.inputType('OffRampSessionFilter', {
  description: `An off-ramp session ${FILTER_RULE}`,
  fields: (t) => ({
    receiptTokenAddresses: t.field({
      type: ['Address'],
      validate: { schema: filterList<string>() },
      description: oneOf('Of the receipt with one of these tokens'),
    }),
    farmerIds: t.stringList({
      validate: { schema: subjectList },
      description: oneOf('Of a receipt of one of the farmers with these subjects'),
    }),
    states: t.field({ type: [OffRampStateEnum], description: 'In one of these states.' }),
    stranded: t.boolean({
      description:
        'true: only those that wait for a ramp provider other than the configured one; false: only the others.',
    }),
    overdue: t.boolean({
      description: `true: only those that are overdue, which is ${OVERDUE_RULE}; false: only the others.`,
    }),
    from: t.field(fromTime('Requested')),
    until: t.field(untilTime('Requested')),
    minTokenAmount: t.field({ type: 'Kilograms', description: 'Of at least this many kilograms.' }),
    maxTokenAmount: t.field({ type: 'Kilograms', description: 'Of at most this many kilograms.' }),
  }),
});

const cursors = keysetCursors('offRampSessions');

builder.queryField('offRampSessions', (t) =>
  t.connection(
    {
      ...forRoles(
        ['farmer', 'operator'],
        'Off-ramp sessions, newest first, a page at a time. Farmers see their own, operators all. A receipt that does not ' +
          "exist has none, like one of another farmer's.",
      ),
      type: OffRampSessionRef,
      nullable: true,
      args: {
        filter: t.arg({
          type: OffRampSessionFilterInput,
          description: 'Which off-ramp sessions; all that the caller sees when omitted.',
        }),
      },
      resolve: (_root, args, { caller, dependencies }) => {
        const filter = { ...args.filter, visibleTo: isOperator(caller) ? null : subjectOf(caller) };
        return pageOf(args, cursors, listOffRampSessions(dependencies, filter));
      },
    },
    ...listNames('OffRampSession'),
  ),
);
