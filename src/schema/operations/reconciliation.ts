/**
 * reconciliation: compares one project's books with its token, for operators.
 */
import type { Reconciliation } from '../../reconciliation/reconcileProject.ts';
import {
  INVARIANTS,
  type Finding,
  type Invariant,
  type NotProved,
  type Verdict,
} from '../../reconciliation/verdicts.ts';
import { reconcile } from '../../resolvers/operations/reconcile.ts';
import { forRoles } from '../core/access.ts';
import { BooksBalancesRef } from '../carbon/booksBalances.ts';
import { builder } from '../core/builder.ts';
import { PROJECT_TOKEN } from '../core/tokenAddress.ts';

const NetworkTotalsRef = builder
  .objectRef<NonNullable<Reconciliation['network']>>('NetworkTotals')
  .implement({
    description: "A token's totals on the network.",
    fields: (t) => ({
      totalSupply: t.expose('totalSupply', {
        type: 'BaseUnits',
        description: 'In circulation, in base units.',
      }),
      totalRetired: t.expose('totalRetired', { type: 'BaseUnits', description: 'Burned, in base units.' }),
      totalRetirements: t.exposeInt('totalRetirements', {
        description: 'The number of retirement records.',
      }),
      custodyBalance: t.expose('custodyBalance', {
        type: 'BaseUnits',
        description:
          "What custody holds, in base units: unsold credits, buyers' credits and credits being retired.",
      }),
    }),
  });

export const InvariantEnum = builder.enumType('Invariant', {
  description: 'What must always hold, by its number in docs/invariants.md.',
  values: Object.fromEntries(
    Object.entries(INVARIANTS).map(([name, description]) => [name, { description }]),
  ) as Record<Invariant, { description: string }>,
});

export const FindingRef = builder.objectRef<Finding>('Finding').implement({
  description: 'A violation of an invariant, with its evidence.',
  fields: (t) => ({
    invariant: t.expose('invariant', { type: InvariantEnum, description: 'The invariant.' }),
    message: t.exposeString('message', { description: 'What disagrees, as text.' }),
  }),
});

const ObstacleEnum = builder.enumType('ReconciliationObstacle', {
  description: 'Why something could not be compared.',
  values: {
    UNDER_WAY: { description: 'A network call is not settled yet. Resolves without action.' },
    UNDER_REVIEW: { description: 'An operator has to decide first.' },
    NO_ANSWER: { description: 'The network or the ramp provider did not answer. Try again later.' },
    NO_DATA: { description: 'There is no data to compare with.' },
    LEFT_OUT: {
      description:
        'It was skipped, for what the message says: often too much for one query, and `npm run reconcile` compares it.',
    },
  } as const satisfies Record<NotProved['obstacle'], { description: string }>,
});

export const NotProvedRef = builder.objectRef<NotProved>('NotProved').implement({
  description: 'A comparison that could not be made, and why.',
  fields: (t) => ({
    invariant: t.expose('invariant', { type: InvariantEnum, description: 'The invariant.' }),
    obstacle: t.expose('obstacle', { type: ObstacleEnum, description: 'Why it could not be compared.' }),
    message: t.exposeString('message', { description: 'What was not compared, and the reason.' }),
  }),
});

export const VerdictEnum = builder.enumType('ReconciliationVerdict', {
  description: 'Result of a reconciliation for one invariant.',
  values: {
    HOLDS: { description: 'Everything was compared, without findings.' },
    BROKEN: { description: 'There are findings.' },
    NOT_PROVED: { description: 'No findings, but something could not be compared.' },
  } as const satisfies Record<Verdict['verdict'], { description: string }>,
});

const InvariantVerdictRef = builder.objectRef<Verdict>('InvariantVerdict').implement({
  description: 'An invariant, and whether it holds.',
  fields: (t) => ({
    invariant: t.expose('invariant', { type: InvariantEnum, description: 'The invariant.' }),
    promise: t.exposeString('promise', { description: 'The invariant as text.' }),
    verdict: t.expose('verdict', { type: VerdictEnum, description: 'Whether it holds.' }),
  }),
});

const ReconciliationRef = builder.objectRef<Reconciliation>('Reconciliation').implement({
  description: "A project's books compared with its token.",
  fields: (t) => ({
    agrees: t.boolean({
      description: 'Everything was compared, and nothing was found: every verdict is HOLDS.',
      resolve: ({ verdicts }) => verdicts.every(({ verdict }) => verdict === 'HOLDS'),
    }),
    unsettledCount: t.exposeInt('unsettled', {
      description: 'The number of network calls of this project that are under way or under review.',
    }),
    books: t.expose('books', { type: BooksBalancesRef, description: "The platform's books." }),
    network: t.expose('network', {
      type: NetworkTotalsRef,
      nullable: true,
      description: 'The token on the network; null when it is missing there, which is a finding.',
    }),
    verdicts: t.expose('verdicts', {
      type: [InvariantVerdictRef],
      description: 'One for each invariant of a single project: I2, I3, I4 and I10.',
    }),
    findings: t.expose('findings', {
      type: [FindingRef],
      description: 'Disagreements; empty when everything that was compared agrees.',
    }),
    notProved: t.expose('notProved', {
      type: [NotProvedRef],
      description: 'What could not be compared, and why; everything else was compared.',
    }),
  }),
});

builder.queryField('reconciliation', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      "Compares one project's books with its token, now; null when no project has a token there. Errors: LEDGER_UNAVAILABLE.",
    ),
    type: ReconciliationRef,
    nullable: true,
    args: {
      tokenAddress: t.arg(PROJECT_TOKEN),
    },
    resolve: (_root, { tokenAddress }, { dependencies }) => reconcile(dependencies, tokenAddress),
  }),
);
