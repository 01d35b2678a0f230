/**
 * projectTypes, creditTypes: the kinds of projects and of credits that there are.
 */
import { listCreditTypes, listProjectTypes } from '../../resolvers/carbon/listProjects.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';

builder.queryField('projectTypes', (t) =>
  t.stringList({
    ...forPublic(
      'The kinds of projects that exist, each once, in alphabetical order, at most 100: the values for ' +
        '`filter: { projectTypes }` of `projects`.',
    ),
    nullable: true,
    resolve: (_root, _args, { dependencies }) => listProjectTypes(dependencies),
  }),
);

builder.queryField('creditTypes', (t) =>
  t.stringList({
    ...forPublic(
      'The kinds of credits that exist, each once, in alphabetical order, at most 100: the values for ' +
        '`filter: { creditTypes }` of `projects`.',
    ),
    nullable: true,
    resolve: (_root, _args, { dependencies }) => listCreditTypes(dependencies),
  }),
);
