/**
 * projectTypes: the kinds of projects that there are.
 */
import { listProjectTypes } from '../../resolvers/carbon/listProjectTypes.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';

builder.queryField('projectTypes', (t) =>
  t.stringList({
    ...forPublic(
      'The kinds of projects that there are, each once, in the order of their names, at most 100: what `filter: { projectTypes }` of ' +
        '`projects` can be chosen from.',
    ),
    nullable: true,
    resolve: (_root, _args, { dependencies }) => listProjectTypes(dependencies),
  }),
);
