/**
 * reconciliation: compares one project's books with its token, for operators.
 */
import type { Reconciliation } from '../../reconciliation/reconcileProject.ts';
import { INVARIANTS, type Finding, type NotProved, type Verdict } from '../../reconciliation/verdicts.ts';
import { reconcile } from '../../resolvers/operations/reconcile.ts';
import { forRoles } from '../core/access.ts';
import { BooksBalancesRef } from '../carbon/booksBalances.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { PROJECT_TOKEN } from '../core/tokenAddress.ts';

const NetworkTotalsRef = builder
  .objectRef<NonNullable<Reconciliation['network']>>('NetworkTotals')
  .implement({
    description: 'The totals of a token on the network.',
    fields: (t) => ({
      totalSupply: t.expose('totalSupply', {
        type: 'BaseUnits',
        description: 'The amount in circulation, in base units.',
      }),
      totalRetired: t.expose('totalRetired', {
        type: 'BaseUnits',
        description: 'The burned amount, in base units.',
      }),
      totalRetirements: t.exposeInt('totalRetirements', {
        description: 'The number of retirement records.',
      }),
      custodyBalance: t.expose('custodyBalance', {
        type: 'BaseUnits',
        description:
          "The balance of custody, in base units: unsold credits, buyers' credits and credits being retired.",
      }),
    }),
  });

export const InvariantEnum = enumOf(
  'Invariant',
  'An invariant that must always hold, by its number in docs/invariants.md.',
  INVARIANTS,
);

export const FindingRef = builder.objectRef<Finding>('Finding').implement({
  description: 'A violation of an invariant, with its evidence.',
  fields: (t) => ({
    invariant: t.expose('invariant', { type: InvariantEnum, description: 'The violated invariant.' }),
    message: t.exposeString('message', { description: 'The description of the violation, as text.' }),
  }),
});

const ObstacleEnum = enumOf<NotProved['obstacle']>(
  'ReconciliationObstacle',
  'The reason why something could not be compared.',
  {
    UNDER_WAY: 'A network call is not settled yet. Resolves automatically.',
    UNDER_REVIEW: 'An operator has to decide first.',
    NO_ANSWER: 'The network or the ramp provider did not answer. Try again later.',
    NO_DATA: 'There is no data to compare with.',
    LEFT_OUT:
      'The comparison was skipped for the reason in `message`: often because it is too much for one query, and ' +
      '`npm run reconcile` makes the comparison.',
  },
);

export const NotProvedRef = builder.objectRef<NotProved>('NotProved').implement({
  description: 'A comparison that could not be made, and the reason.',
  fields: (t) => ({
    invariant: t.expose('invariant', { type: InvariantEnum, description: 'The invariant.' }),
    obstacle: t.expose('obstacle', {
      type: ObstacleEnum,
      description: 'The reason why the comparison could not be made.',
    }),
    message: t.exposeString('message', { description: 'The skipped comparison and the reason, as text.' }),
  }),
});

export const VerdictEnum = enumOf<Verdict['verdict']>(
  'ReconciliationVerdict',
  'The result of a reconciliation for one invariant.',
  {
    HOLDS: 'Everything was compared, and there are no findings.',
    BROKEN: 'There are findings.',
    NOT_PROVED: 'There are no findings, but something could not be compared.',
  },
);

const InvariantVerdictRef = builder.objectRef<Verdict>('InvariantVerdict').implement({
  description: 'An invariant, and whether it holds.',
  fields: (t) => ({
    invariant: t.expose('invariant', { type: InvariantEnum, description: 'The invariant.' }),
    promise: t.exposeString('promise', { description: 'The invariant as text.' }),
    verdict: t.expose('verdict', { type: VerdictEnum, description: 'Whether the invariant holds.' }),
  }),
});

const ReconciliationRef = builder.objectRef<Reconciliation>('Reconciliation').implement({
  description: "The comparison of a project's books with its token.",
  fields: (t) => ({
    agrees: t.boolean({
      description: 'Whether everything was compared and nothing was found: every verdict is HOLDS.',
      resolve: ({ verdicts }) => verdicts.every(({ verdict }) => verdict === 'HOLDS'),
    }),
    unsettledCount: t.exposeInt('unsettled', {
      description: 'The number of network calls of the project that are in progress or under review.',
    }),
    books: t.expose('books', {
      type: BooksBalancesRef,
      description: "The balances in the platform's books.",
    }),
    network: t.expose('network', {
      type: NetworkTotalsRef,
      nullable: true,
      description:
        'The totals of the token on the network. Null when the token is missing there, which is a finding.',
    }),
    verdicts: t.expose('verdicts', {
      type: [InvariantVerdictRef],
      description: 'The verdicts, one for each invariant of a single project: I2, I3, I4 and I10.',
    }),
    findings: t.expose('findings', {
      type: [FindingRef],
      description: 'The violations found. Empty when everything that was compared agrees.',
    }),
    notProved: t.expose('notProved', {
      type: [NotProvedRef],
      description: 'The comparisons that could not be made, with the reasons. Everything else was compared.',
    }),
  }),
});

builder.queryField('reconciliation', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Compares the books of one project with its token, now. Null when no project has a token at this address. ' +
        'Errors: LEDGER_UNAVAILABLE.',
    ),
    type: ReconciliationRef,
    args: {
      tokenAddress: t.arg(PROJECT_TOKEN),
    },
    resolve: (_root, { tokenAddress }, { dependencies }) => reconcile(dependencies, tokenAddress),
  }),
);
