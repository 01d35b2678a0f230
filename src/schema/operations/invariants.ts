/**
 * invariants: the last verdict of the server's own reconciliations on each invariant, for operators.
 */
import { listInvariants, type InvariantStatus } from '../../resolvers/operations/listInvariants.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { FindingRef, InvariantEnum, NotProvedRef, VerdictEnum } from './reconciliation.ts';
import { momentOrNull } from '../core/time.ts';

const InvariantStatusRef = builder.objectRef<InvariantStatus>('InvariantStatus').implement({
  description: 'An invariant, with its result in the last reconciliations of all books.',
  fields: (t) => ({
    invariant: t.expose('invariant', { type: InvariantEnum, description: 'The invariant.' }),
    promise: t.exposeString('promise', { description: 'The invariant as text.' }),
    verdict: t.expose('verdict', {
      type: VerdictEnum,
      description: 'Whether the invariant holds. NOT_PROVED until the first comparison.',
    }),
    findings: t.expose('findings', {
      type: [FindingRef],
      description:
        'The violations of the invariant, at most 50. A violation that an incremental reconciliation found stays ' +
        'until a full reconciliation no longer finds it.',
    }),
    notProved: t.expose('notProved', {
      type: [NotProvedRef],
      description:
        'The comparisons that the last reconciliation could not make, with the reasons, at most 50. NO_DATA entries ' +
        'stay until a full reconciliation.',
    }),
    agreedAt: t.expose('agreedAt', {
      type: 'UnixTime',
      nullable: true,
      description:
        'The time of the last reconciliation, full or incremental, without findings for this invariant, in Unix ' +
        'seconds. Calls under way or under review, and entries with NO_DATA, do not prevent it; a missing answer or ' +
        'a skipped comparison does. The next incremental reconciliation starts from the earliest such time of the invariants that are ' +
        'not BROKEN. Null when there was none.',
    }),
    comparedAt: t.expose(
      'comparedAt',
      momentOrNull('The time of the last comparison', 'Null before the first reconciliation'),
    ),
    fullyComparedAt: t.expose(
      'fullyComparedAt',
      momentOrNull(
        'The time everything was last compared, and not only recent changes',
        'Null when everything was never compared',
      ),
    ),
  }),
});

builder.queryField('invariants', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'All invariants with their last verdicts, in the order of docs/invariants.md. The verdicts come from the ' +
        'reconciliations that the server runs automatically (recent changes every five minutes, or less often when ' +
        'that takes long; everything each night) and from `npm run reconcile`.',
    ),
    type: [InvariantStatusRef],
    resolve: (_root, _args, { dependencies }) => listInvariants(dependencies),
  }),
);
