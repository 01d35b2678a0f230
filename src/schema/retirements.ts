/**
 * retirements: a buyer's own, or everybody's for operators.
 */
import { requireProjectByToken } from '../resolvers/findProject.ts';
import { listRetirements, retirementCursor } from '../resolvers/listRetirements.ts';
import { isOperator, subjectOf } from './caller.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from './paging.ts';
import { builder } from './platform.ts';
import { RetirementRef, RetirementStateEnum } from './retirement.ts';
import { address, buyerId } from './text.ts';

const RetirementFilterInput = builder.inputType('RetirementFilter', {
  description: 'Only retirements that have all of these.',
  fields: (t) => ({
    buyerId: t.string({
      validate: { schema: buyerId },
      description: "Of this buyer. A buyer's token sees its own in any case, and no others.",
    }),
    tokenAddress: t.string({ validate: { schema: address }, description: 'Of the project with this token.' }),
    state: t.field({ type: RetirementStateEnum, description: 'In this state.' }),
  }),
});

const cursors = keysetCursors('retirements', cursorValues.moment);

builder.queryField('retirements', (t) =>
  t.connection(
    {
      description:
        'Retirements, newest first, a page at a time.\n\nFor tokens with role operator (or admin), which see all; and with ' +
        'role buyer, which see those of their subject.',
      authScopes: (_root, { filter }, { caller }) => ({
        $any: { role: ['operator'], buyer: filter?.buyerId ?? caller?.subject ?? '' },
      }),
      type: RetirementRef,
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
        return pageOf(args, cursors, (page) => listRetirements(dependencies, filter, page), retirementCursor);
      },
    },
    ...listNames('Retirement'),
  ),
);
