/**
 * retirements: a buyer's own, or all of them for operators.
 */
import { requireProjectByToken } from '../../resolvers/carbon/findProject.ts';
import {
  countRetirements,
  listRetirements,
  retirementCursor,
} from '../../resolvers/carbon/listRetirements.ts';
import { isOperator, subjectOf } from '../core/caller.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { RetirementRef, RetirementStateEnum } from './retirement.ts';
import { buyerId } from '../core/text.ts';

const RetirementFilterInput = builder.inputType('RetirementFilter', {
  description: 'Retirements must match all of these.',
  fields: (t) => ({
    buyerId: t.string({
      validate: { schema: buyerId },
      description: "Only of this buyer. A buyer's token sees its own retirements only.",
    }),
    tokenAddress: t.field({ type: 'Address', description: 'Only of the project with this token.' }),
    state: t.field({ type: RetirementStateEnum, description: 'Only in this state.' }),
  }),
});

const cursors = keysetCursors('retirements', cursorValues.moment);

builder.queryField('retirements', (t) =>
  t.connection(
    {
      description:
        'Retirements, newest first, a page at a time.\n\nNeeds a token with role operator (or admin), which sees all; or with ' +
        'role buyer, which sees those of its subject.',
      authScopes: (_root, { filter }, { caller }) => ({
        $any: { role: ['operator'], buyer: filter?.buyerId ?? caller?.subject ?? '' },
      }),
      type: RetirementRef,
      nullable: true,
      args: { filter: t.arg({ type: RetirementFilterInput, description: 'Which retirements.' }) },
      resolve: async (_root, args, { caller, dependencies }) => {
        const { tokenAddress, state, buyerId: asked } = args.filter ?? {};
        const project =
          tokenAddress == null
            ? null
            : await requireProjectByToken(dependencies, tokenAddress, 'filter.tokenAddress');
        const filter = {
          state,
          projectId: project?.id,
          buyerId: isOperator(caller) ? asked : subjectOf(caller),
        };
        return pageOf(args, cursors, {
          list: (page) => listRetirements(dependencies, filter, page),
          cursorOf: retirementCursor,
          count: () => countRetirements(dependencies, filter),
        });
      },
    },
    ...listNames('Retirement'),
  ),
);
