/**
 * retirements: a buyer's own retirements, or all of them for operators.
 */
import type { Caller } from '../../identity/roles.ts';
import { listRetirements } from '../../resolvers/carbon/listRetirements.ts';
import { isOperator, subjectOf } from '../core/caller.ts';
import { anyOf, FILTER_RULE, filterOf, PROJECT_TOKENS, within } from '../core/filters.ts';
import { subject } from '../core/text.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { RetirementRef, RetirementStateEnum } from './retirement.ts';

/** The first buyer who is not the caller. */
function otherThan(
  caller: Caller | null,
  buyerIds: readonly string[] | null | undefined,
): string | undefined {
  return buyerIds?.find((id) => id !== caller?.subject);
}

const RetirementFilterInput = builder.inputType('RetirementFilter', {
  description: `A retirement ${FILTER_RULE}`,
  fields: (t) => ({
    buyerIds: t.stringList(
      anyOf(
        'retirements of one of these buyers',
        subject,
        "Defaults to the caller for a buyer's token, which may name only itself, and to all buyers for an operator.",
      ),
    ),
    tokenAddresses: t.field({ ...PROJECT_TOKENS, type: ['Address'] }),
    states: t.field({ type: [RetirementStateEnum], description: 'Only retirements in one of these states.' }),
    ...within(t, 'retirements requested'),
    minTonnes: t.field({
      type: 'Tonnes',
      description: 'Only retirements of at least this many tonnes CO2e.',
    }),
    maxTonnes: t.field({ type: 'Tonnes', description: 'Only retirements of at most this many tonnes CO2e.' }),
  }),
});

const cursors = keysetCursors('retirements');

builder.queryField('retirements', (t) =>
  t.connection(
    {
      description:
        'A paginated list of retirements, newest first.\n\nNeeds a token with role operator (or admin), which sees ' +
        'all; or with role buyer, which sees those of its subject.',
      authScopes: (_root, { filter }, { caller }) => ({
        $any: { role: ['operator'], buyer: otherThan(caller, filter?.buyerIds) ?? caller?.subject ?? '' },
      }),
      type: RetirementRef,
      nullable: true,
      args: filterOf(RetirementFilterInput, 'Filters the retirements.'),
      resolve: (_root, args, { caller, dependencies }) => {
        // A list without any buyer is not the caller's, so it stays empty.
        const own =
          isOperator(caller) || args.filter?.buyerIds != null ? {} : { buyerIds: [subjectOf(caller)] };
        const filter = { ...args.filter, ...own };
        return pageOf(args, cursors, listRetirements(dependencies, filter));
      },
    },
    ...listNames('Retirement'),
  ),
);
