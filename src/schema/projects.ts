/**
 * projects: looking for credits.
 */
import { listProjects, projectCursor } from '../resolvers/listProjects.ts';
import type { ProjectOrder } from '../resolvers/listProjects.ts';
import { forEverybody } from './access.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from './paging.ts';
import { builder } from './platform.ts';
import { ProjectRef, ProjectStateEnum } from './project.ts';
import { countryCode, label } from './text.ts';

const ProjectFilterInput = builder.inputType('ProjectFilter', {
  description: 'Only projects that have all of these.',
  fields: (t) => ({
    countryCode: t.string({
      validate: { schema: countryCode },
      description: 'In this country: ISO 3166-1 alpha-2, in capitals.',
    }),
    vintageYear: t.int({ description: 'Of this vintage year.' }),
    projectType: t.string({
      validate: { schema: label },
      description: 'Of this kind of project, spelled exactly so.',
    }),
    creditType: t.string({
      validate: { schema: label },
      description: 'Of this kind of credit, spelled exactly so.',
    }),
    state: t.field({ type: ProjectStateEnum, description: 'In this state.' }),
    available: t.boolean({ description: 'true: with unsold tonnes; false: without.' }),
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
      ...forEverybody('Projects, a page at a time.'),
      type: ProjectRef,
      args: {
        filter: t.arg({ type: ProjectFilterInput, description: 'Which projects; all of them without it.' }),
        orderBy: t.arg({ type: ProjectOrderEnum, defaultValue: 'NEWEST', description: 'In which order.' }),
      },
      resolve: (_root, args, { dependencies }) => {
        const order = args.orderBy ?? 'NEWEST';
        return pageOf(
          args,
          CURSORS[order],
          (page) => listProjects(dependencies, args.filter ?? {}, order, page),
          (project) => projectCursor(order, project),
        );
      },
    },
    ...listNames('Project'),
  ),
);
