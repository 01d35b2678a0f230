/**
 * invariants: the last verdict of the server's own reconciliations on each invariant, for operators.
 */
import { listInvariants, type InvariantStatus } from '../../resolvers/operations/listInvariants.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { FindingRef, InvariantEnum, NotProvedRef, VerdictEnum } from './reconciliation.ts';
import { momentOrNull } from '../core/time.ts';

const InvariantStatusRef = builder.objectRef<InvariantStatus>('InvariantStatus').implement({
  description: 'An invariant, and what the last reconciliations of all books say of it.',
  fields: (t) => ({
    invariant: t.expose('invariant', { type: InvariantEnum, description: 'The invariant.' }),
    promise: t.exposeString('promise', { description: 'The invariant as text.' }),
    verdict: t.expose('verdict', {
      type: VerdictEnum,
      description: 'Whether it holds; NOT_PROVED until it was compared for the first time.',
    }),
    findings: t.expose('findings', {
      type: [FindingRef],
      description:
        'What disagrees: 50 at most. What an incremental reconciliation found stays until a full one no longer finds it.',
    }),
    notProved: t.expose('notProved', {
      type: [NotProvedRef],
      description:
        'What the last reconciliation could not compare, and why: 50 at most. NO_DATA stays until a full one.',
    }),
    agreedAt: t.expose('agreedAt', {
      type: 'UnixTime',
      nullable: true,
      description:
        'When everything last agreed, in Unix seconds: the next incremental reconciliation begins there. ' +
        'Null when it never did.',
    }),
    comparedAt: t.expose(
      'comparedAt',
      momentOrNull('When it was compared last', 'null before the first reconciliation'),
    ),
    fullyComparedAt: t.expose(
      'fullyComparedAt',
      momentOrNull('When everything was compared last, not only what had changed', 'null when it never was'),
    ),
  }),
});

builder.queryField('invariants', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Every invariant with its last verdict, in the order of docs/invariants.md. Kept by the reconciliations that the server ' +
        'runs by itself (what has changed every five minutes or, where that takes long, less often; everything each night) and by `npm run reconcile`.',
    ),
    type: [InvariantStatusRef],
    nullable: true,
    resolve: (_root, _args, { dependencies }) => listInvariants(dependencies),
  }),
);
