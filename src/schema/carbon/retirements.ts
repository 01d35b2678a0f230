/**
 * retirements: a buyer's own retirements, or all of them for operators.
 */
import type { Caller } from '../../identity/roles.ts';
import { listRetirements } from '../../resolvers/carbon/listRetirements.ts';
import { isOperator, subjectOf } from '../core/caller.ts';
import { FILTER_RULE, oneOf, PROJECT_TOKENS, subjectList } from '../core/filters.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { RetirementRef, RetirementStateEnum } from './retirement.ts';
import { fromTime, untilTime } from '../core/time.ts';

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
    buyerIds: t.stringList({
      validate: { schema: subjectList },
      description: `${oneOf('Of one of these buyers')} Without it, a buyer's token sees its own, and an operator's all; a buyer's token may name itself alone.`,
    }),
    tokenAddresses: t.field({ ...PROJECT_TOKENS, type: ['Address'] }),
    states: t.field({ type: [RetirementStateEnum], description: 'In one of these states.' }),
    from: t.field(fromTime('Requested')),
    until: t.field(untilTime('Requested')),
    minTonnes: t.field({ type: 'Tonnes', description: 'Of at least this many tonnes CO2e.' }),
    maxTonnes: t.field({ type: 'Tonnes', description: 'Of at most this many tonnes CO2e.' }),
  }),
});

const cursors = keysetCursors('retirements');

builder.queryField('retirements', (t) =>
  t.connection(
    {
      description:
        'Retirements, newest first, a page at a time.\n\nNeeds a token with role operator (or admin), which sees all; or with ' +
        'role buyer, which sees those of its subject.',
      authScopes: (_root, { filter }, { caller }) => ({
        $any: { role: ['operator'], buyer: otherThan(caller, filter?.buyerIds) ?? caller?.subject ?? '' },
      }),
      type: RetirementRef,
      nullable: true,
      args: { filter: t.arg({ type: RetirementFilterInput, description: 'Which retirements.' }) },
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
