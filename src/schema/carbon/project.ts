/**
 * Project: verified credits, issued as one carbon credit token. projects lists them for buyers; projectTypes and
 * creditTypes list the kinds of projects and of credits in use.
 */
import type { Caller } from '../../identity/roles.ts';
import { readProjectBalances } from '../../ledger/books/readBalances.ts';
import {
  findProjectById,
  findProjectByToken,
  findProjectsByIds,
  FOLLOWED_PROJECTS,
  type Project,
} from '../../resolvers/carbon/findProject.ts';
import { readPrices } from '../../resolvers/carbon/projectPrices.ts';
import { atLeast, atMost, tonnes } from '../core/amounts.ts';
import { forPublic } from '../core/access.ts';
import { createBatch, createRequiredBatch } from '../core/batch.ts';
import { BooksBalancesRef } from './booksBalances.ts';
import { MoneyRef } from '../core/money.ts';
import { transactionsOf } from '../operations/networkTransaction.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import type { Context } from '../core/context.ts';
import { actsAs, isOperator } from '../core/caller.ts';
import { subscribeTo, UPDATES_UNTIL_FINAL } from '../core/updates.ts';
import { TOKEN_ADDRESS } from '../core/tokenAddress.ts';
import { moment, momentOrNull } from '../core/time.ts';
import {
  listCreditTypes,
  listProjects,
  listProjectTypes,
  type ProjectOrder,
} from '../../resolvers/carbon/listProjects.ts';
import { anyOf, filterInput, filterOf, within } from '../core/filters.ts';
import { assetId, label } from '../core/text.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from '../core/paging.ts';

/** The project of a list's item. */
export const projectOf = createRequiredBatch('project', findProjectsByIds);

export const balancesOfProject = createRequiredBatch('the balances of project', readProjectBalances);

const priceOfProject = createBatch(readPrices);

const ProjectStateEnum = enumOf('ProjectState', "The state of a project's issuance.", {
  DEPLOYING: 'The token is being deployed.',
  MINTING: 'The token is deployed, and the verified quantity is being minted into custody.',
  OPEN: 'The whole quantity is minted and for sale.',
  REFUSED:
    'The network refused the token, or an operator ended the issuance. Nothing was issued, and the reference ' +
    'can be used again.',
  NEEDS_REVIEW: 'An operator has to decide. Nothing is for sale.',
});

export const ProjectRef = builder.objectRef<Project>('Project');

/** The field `project` of a project's object: `project: t.field(ofProject('The project of the credits.'))`. */
export function ofProject(description: string) {
  const resolve = ({ projectId }: { projectId: string }, _args: object, context: Context) =>
    projectOf(context, projectId);
  return { type: ProjectRef, description, resolve };
}

function isItsDeveloperOrOperator(caller: Caller | null, { developerId }: Project): boolean {
  return isOperator(caller) || actsAs(caller, 'developer', developerId);
}

builder.node(ProjectRef, {
  description: 'A verified project, whose credits are issued as one carbon credit token.',
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, { dependencies }) => findProjectById(dependencies, id),
  fields: (t) => ({
    state: t.expose('state', { type: ProjectStateEnum, description: 'The state of the issuance.' }),
    stateReason: t.string({
      nullable: true,
      description:
        'The reason why the project was refused or needs review, as text. Null in other states, and for callers ' +
        "other than the project's developer and operators.",
      resolve: (project, _args, { caller }) =>
        isItsDeveloperOrOperator(caller, project) ? project.stateReason : null,
    }),
    developerId: t.string({
      nullable: true,
      description:
        'The subject of the developer who submitted the project and may set its price. Null for callers other than ' +
        'that developer and operators.',
      resolve: (project, _args, { caller }) =>
        isItsDeveloperOrOperator(caller, project) ? project.developerId : null,
    }),
    assetId: t.exposeString('assetId', {
      description:
        "The verification body's reference and the vintage year, joined by a hyphen. Unique among all projects.",
    }),
    creditType: t.exposeString('creditType', { description: 'The kind of credit, such as VCU.' }),
    verificationBodyRef: t.exposeString('verificationBodyRef', {
      description: "The verification body's reference for these credits.",
    }),
    vintageYear: t.exposeInt('vintageYear', { description: 'The year of the emission reductions.' }),
    quantityCO2e: t.expose('quantityTonnes', tonnes('The verified quantity, all of which is issued')),
    projectLocation: t.exposeString('projectLocation', { description: "The project's location as text." }),
    projectType: t.exposeString('projectType', { description: 'The kind of project, such as REDD+.' }),
    countryCode: t.expose('countryCode', {
      type: 'CountryCode',
      description: 'The country of the project: ISO 3166-1 alpha-2.',
    }),
    tokenName: t.exposeString('tokenName', { description: "The token's display name." }),
    tokenSymbol: t.exposeString('tokenSymbol', { description: "The token's symbol: CARB." }),
    tokenAddress: t.expose('tokenAddress', {
      type: 'Address',
      nullable: true,
      description: 'The address of the token on the ledger network. Null until the token is deployed.',
    }),
    unsoldTonnes: t.field({
      type: 'Tonnes',
      description: 'Whole tonnes CO2e that can be purchased now; the same value as `books { inventory }`.',
      resolve: async ({ id }, _args, context) => (await balancesOfProject(context, id)).inventory,
    }),
    pricePerTonne: t.field({
      type: MoneyRef,
      nullable: true,
      description:
        "The developer's price of a tonne, which applies to purchases from now on. Null when no price is set. " +
        'Payment is agreed and made outside this platform.',
      resolve: async ({ id }, _args, context) => (await priceOfProject(context, id)) ?? null,
    }),
    books: t.field({
      type: BooksBalancesRef,
      description: "The project's tonnes in each account of the platform's books.",
      resolve: ({ id }, _args, context) => balancesOfProject(context, id),
    }),
    transactions: t.field(
      transactionsOf('The transactions that deployed and minted the token, oldest first.'),
    ),
    createdAt: t.expose('createdAt', moment('The time the project was submitted')),
    openedAt: t.expose('openedAt', momentOrNull('The time the whole quantity was minted')),
  }),
});

builder.queryField('project', (t) =>
  t.field({
    ...forPublic('The project whose token has this address. Null when no project has a token there.'),
    type: ProjectRef,
    args: { tokenAddress: t.arg(TOKEN_ADDRESS) },
    resolve: (_root, { tokenAddress }, { dependencies }) => findProjectByToken(dependencies, tokenAddress),
  }),
);

subscribeTo(
  'projectUpdated',
  ProjectRef,
  forPublic(
    `Follows the issuance of a project. ${UPDATES_UNTIL_FINAL}OPEN or REFUSED. Errors: NOT_FOUND (no such project).`,
  ),
  { kind: FOLLOWED_PROJECTS, maySee: () => true, noun: 'project' },
);

const ProjectFilterInput = filterInput('ProjectFilter', 'A project', (t) => ({
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
  creditTypes: t.stringList(anyOf('projects of one of these credit types, in exactly this spelling', label)),
  states: t.field({ type: [ProjectStateEnum], description: 'Only projects in one of these states.' }),
  buyable: t.boolean({
    description:
      'true: only projects whose credits can be purchased now, as in `Project.buyable`; false: only the other projects.',
  }),
  minUnsoldTonnes: t.field(atLeast('Tonnes', 'projects with', 'unsold tonnes CO2e')),
  minQuantityCO2e: t.field(atLeast('Tonnes', 'projects with', 'verified tonnes CO2e')),
  maxQuantityCO2e: t.field(atMost('Tonnes', 'projects with', 'verified tonnes CO2e')),
  ...within(t, 'projects submitted'),
}));

const ProjectOrderEnum = enumOf('ProjectOrder', 'The order of a list of projects.', {
  NEWEST: 'By submission, newest first.',
  OLDEST: 'By submission, oldest first.',
  VINTAGE_NEWEST: 'By vintage year, latest first.',
  VINTAGE_OLDEST: 'By vintage year, earliest first.',
  QUANTITY_LARGEST: 'By verified quantity, largest first.',
});

const CURSORS = {
  NEWEST: keysetCursors('projects:NEWEST'),
  OLDEST: keysetCursors('projects:OLDEST'),
  VINTAGE_NEWEST: keysetCursors('projects:VINTAGE_NEWEST', cursorValues.integer),
  VINTAGE_OLDEST: keysetCursors('projects:VINTAGE_OLDEST', cursorValues.integer),
  QUANTITY_LARGEST: keysetCursors('projects:QUANTITY_LARGEST', cursorValues.bigint),
} satisfies Record<ProjectOrder, unknown>;

builder.queryFields((t) => ({
  projects: t.connection(
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
  projectTypes: t.stringList({
    ...forPublic(
      'The project types in use, each once, in alphabetical order, at most 100. These are the values for `filter: ' +
        '{ projectTypes }` of `projects`.',
    ),
    resolve: (_root, _args, { dependencies }) => listProjectTypes(dependencies),
  }),
  creditTypes: t.stringList({
    ...forPublic(
      'The credit types in use, each once, in alphabetical order, at most 100. These are the values for `filter: ' +
        '{ creditTypes }` of `projects`.',
    ),
    resolve: (_root, _args, { dependencies }) => listCreditTypes(dependencies),
  }),
}));
