/**
 * projects: lists projects for buyers. projectTypes, creditTypes: the kinds of projects and of credits in
 * use.
 */
import {
  listCreditTypes,
  listProjects,
  listProjectTypes,
  type ProjectOrder,
} from '../../resolvers/carbon/listProjects.ts';
import { forPublic } from '../core/access.ts';
import { anyOf, FILTER_RULE, filterOf, within } from '../core/filters.ts';
import { assetId, label } from '../core/text.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { ProjectRef, ProjectStateEnum } from './project.ts';

const ProjectFilterInput = builder.inputType('ProjectFilter', {
  description: `A project ${FILTER_RULE}`,
  fields: (t) => ({
    assetIds: t.stringList(
      anyOf(
        'projects with one of these asset ids; letter case, white space, full-width forms and kinds of hyphens make ' +
          'no difference',
        assetId,
      ),
    ),
    countryCodes: t.field({ type: ['CountryCode'], ...anyOf('projects in one of these countries') }),
    vintageYears: t.intList(anyOf<number>('projects of one of these vintage years')),
    projectTypes: t.stringList(
      anyOf('projects of one of these project types, in exactly this spelling', label),
    ),
    creditTypes: t.stringList(
      anyOf('projects of one of these credit types, in exactly this spelling', label),
    ),
    states: t.field({ type: [ProjectStateEnum], description: 'Only projects in one of these states.' }),
    buyable: t.boolean({
      description:
        'true: only projects whose credits can be purchased now, as in `Project.buyable`; false: only the other projects.',
    }),
    minUnsoldTonnes: t.field({
      type: 'Tonnes',
      description: 'Only projects with at least this many unsold tonnes CO2e.',
    }),
    minQuantityCO2e: t.field({
      type: 'Tonnes',
      description: 'Only projects with at least this many verified tonnes CO2e.',
    }),
    maxQuantityCO2e: t.field({
      type: 'Tonnes',
      description: 'Only projects with at most this many verified tonnes CO2e.',
    }),
    ...within(t, 'projects submitted'),
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
  NEWEST: keysetCursors('projects:NEWEST'),
  OLDEST: keysetCursors('projects:OLDEST'),
  VINTAGE_NEWEST: keysetCursors('projects:VINTAGE_NEWEST', cursorValues.integer),
  VINTAGE_OLDEST: keysetCursors('projects:VINTAGE_OLDEST', cursorValues.integer),
  QUANTITY_LARGEST: keysetCursors('projects:QUANTITY_LARGEST', cursorValues.bigint),
} satisfies Record<ProjectOrder, unknown>;

builder.queryField('projects', (t) =>
  t.connection(
    {
      ...forPublic('A paginated list of projects.'),
      type: ProjectRef,
      args: {
        ...filterOf(ProjectFilterInput, 'Filters the projects. All are listed when omitted.'),
        orderBy: t.arg({
          type: ProjectOrderEnum,
          required: true,
          defaultValue: 'NEWEST',
          description: 'The order of the list.',
        }),
      },
      resolve: (_root, args, { dependencies }) => {
        const list = listProjects(dependencies, args.filter ?? {}, args.orderBy);
        return pageOf(args, CURSORS[args.orderBy], list);
      },
    },
    ...listNames('Project'),
  ),
);

builder.queryField('projectTypes', (t) =>
  t.stringList({
    ...forPublic(
      'The project types in use, each once, in alphabetical order, at most 100. These are the values for `filter: ' +
        '{ projectTypes }` of `projects`.',
    ),
    resolve: (_root, _args, { dependencies }) => listProjectTypes(dependencies),
  }),
);

builder.queryField('creditTypes', (t) =>
  t.stringList({
    ...forPublic(
      'The credit types in use, each once, in alphabetical order, at most 100. These are the values for `filter: ' +
        '{ creditTypes }` of `projects`.',
    ),
    resolve: (_root, _args, { dependencies }) => listCreditTypes(dependencies),
  }),
);
