/**
 * offRampSessions: a farmer's own sessions, or all of them for operators.
 */
import { listOffRampSessions } from '../../resolvers/warehouse/offRamp/listOffRampSessions.ts';
import { OVERDUE_RULE } from '../../resolvers/operations/overdueWork.ts';
import { atLeast, atMost } from '../core/amounts.ts';
import { forRoles } from '../core/access.ts';
import { isOperator, subjectOf } from '../core/caller.ts';
import { anyOf, filterInput, within } from '../core/filters.ts';
import { addList } from '../core/lists.ts';
import { subject } from '../core/text.ts';
import { OffRampStateEnum } from './offRampEnums.ts';
import { OffRampSessionRef } from './offRampSession.ts';

const OffRampSessionFilterInput = filterInput('OffRampSessionFilter', 'An off-ramp session', (t) => ({
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
  minTokenAmount: t.field(atLeast('Kilograms', 'sessions of', 'kilograms')),
  maxTokenAmount: t.field(atMost('Kilograms', 'sessions of', 'kilograms')),
}));

addList('offRampSessions', OffRampSessionRef, {
  ...forRoles(
    ['farmer', 'operator'],
    'A paginated list of off-ramp sessions, newest first. Farmers see their own sessions, operators all. ' +
      'Filtering by a receipt that does not exist, or that belongs to another farmer, gives an empty list.',
  ),
  filter: OffRampSessionFilterInput,
  filtered: 'Filters the off-ramp sessions. All that the caller may see are listed when omitted.',
  list: (deps, given, caller) =>
    listOffRampSessions(deps, { ...given, visibleTo: isOperator(caller) ? null : subjectOf(caller) }),
});
