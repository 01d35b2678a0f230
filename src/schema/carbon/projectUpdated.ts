/**
 * projectUpdated: a project as it changes.
 */
import { findProjectById, FOLLOWED_PROJECTS, type Project } from '../../resolvers/carbon/findProject.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { UPDATES_UNTIL_FINAL, updatesOf } from '../core/updates.ts';
import { ProjectRef } from './project.ts';

const followed = { kind: FOLLOWED_PROJECTS, find: findProjectById, maySee: () => true, noun: 'project' };

builder.subscriptionField('projectUpdated', (t) =>
  t.field({
    ...forPublic(
      `A project's issuance. ${UPDATES_UNTIL_FINAL}OPEN or REFUSED. NOT_FOUND when there is none.`,
    ),
    type: ProjectRef,
    args: {
      id: t.arg.globalID({ for: ProjectRef, required: true, description: 'The `id` of the project.' }),
    },
    subscribe: (_root, args, context) => updatesOf(followed, args, context),
    resolve: (project: Project) => project,
  }),
);
