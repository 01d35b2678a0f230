/**
 * projects: lists projects for buyers.
 */
import { countProjects, listProjects, projectCursor } from '../../resolvers/carbon/listProjects.ts';
import type { ProjectOrder } from '../../resolvers/carbon/listProjects.ts';
import { forPublic } from '../core/access.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { ProjectRef, ProjectStateEnum } from './project.ts';
import { label } from '../core/text.ts';

const ProjectFilterInput = builder.inputType('ProjectFilter', {
  description: 'Projects must match all of these.',
  fields: (t) => ({
    countryCode: t.field({
      type: 'CountryCode',
      description: 'Only in this country: ISO 3166-1 alpha-2, in upper case.',
    }),
    vintageYear: t.int({ description: 'Only of this vintage year.' }),
    projectType: t.string({
      validate: { schema: label },
      description: 'Only of this kind of project; the spelling must match exactly.',
    }),
    creditType: t.string({
      validate: { schema: label },
      description: 'Only of this kind of credit; the spelling must match exactly.',
    }),
    state: t.field({ type: ProjectStateEnum, description: 'Only in this state.' }),
    available: t.boolean({ description: 'true: only with unsold tonnes; false: only without.' }),
  }),
});

const ProjectOrderEnum = builder.enumType('ProjectOrder', {
  description: 'The order of a list of projects.',
  values: {
    NEWEST: { description: 'By submission, newest first.' },
    OLDEST: { description: 'By submission, oldest first.' },
    VINTAGE_NEWEST: { description: 'By vintage year, latest first.' },
    VINTAGE_OLDEST: { description: 'By vintage year, earliest first.' },
    QUANTITY_LARGEST: { description: 'By verified quantity, largest first.' },
  },
});

const CURSORS = {
  NEWEST: keysetCursors('projects:NEWEST', cursorValues.moment),
  OLDEST: keysetCursors('projects:OLDEST', cursorValues.moment),
  VINTAGE_NEWEST: keysetCursors('projects:VINTAGE_NEWEST', cursorValues.integer),
  VINTAGE_OLDEST: keysetCursors('projects:VINTAGE_OLDEST', cursorValues.integer),
  QUANTITY_LARGEST: keysetCursors('projects:QUANTITY_LARGEST', cursorValues.bigint),
} satisfies Record<ProjectOrder, unknown>;

builder.queryField('projects', (t) =>
  t.connection(
    {
      ...forPublic('Projects, a page at a time.'),
      type: ProjectRef,
      nullable: true,
      args: {
        filter: t.arg({ type: ProjectFilterInput, description: 'Which projects; all when omitted.' }),
        orderBy: t.arg({
          type: ProjectOrderEnum,
          defaultValue: 'NEWEST',
          description: 'The order of the list.',
        }),
      },
      resolve: (_root, args, { dependencies }) => {
        const order = args.orderBy ?? 'NEWEST';
        const filter = args.filter ?? {};
        return pageOf(args, CURSORS[order], {
          list: (page) => listProjects(dependencies, filter, order, page),
          cursorOf: (project) => projectCursor(order, project),
          count: () => countProjects(dependencies, filter),
        });
      },
    },
    ...listNames('Project'),
  ),
);
