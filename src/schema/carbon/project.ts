/**
 * Project: verified credits, issued as one carbon credit token.
 */
import type { Caller } from '../../identity/roles.ts';
import { readProjectBalances } from '../../ledger/books/readBalances.ts';
import type { Needs } from '../../resolvers/core/dependencies.ts';
import {
  findProjectById,
  findProjectByToken,
  findProjectsByIds,
  FOLLOWED_PROJECTS,
  type Project,
} from '../../resolvers/carbon/findProject.ts';
import { readPrices } from '../../resolvers/carbon/projectPrices.ts';
import { forPublic } from '../core/access.ts';
import { createBatch, createRequiredBatch } from '../core/batch.ts';
import { BooksBalancesRef } from './booksBalances.ts';
import { MoneyRef } from '../core/money.ts';
import { transactionsOf } from '../operations/networkTransaction.ts';
import { builder } from '../core/builder.ts';
import type { Context } from '../core/context.ts';
import { actsAs, isOperator } from '../core/caller.ts';
import { subscribeTo, UPDATES_UNTIL_FINAL } from '../core/updates.ts';
import { TOKEN_ADDRESS } from '../core/tokenAddress.ts';
import { moment, momentOrNull } from '../core/time.ts';

/** The project of a list's item. */
export const projectOf = createRequiredBatch('project', findProjectsByIds);

export const balancesOfProject = createRequiredBatch(
  'the balances of project',
  ({ db }: Needs<'db'>, ids: readonly string[]) => readProjectBalances(db, ids),
);

const priceOfProject = createBatch(({ db }: Needs<'db'>, ids: readonly string[]) => readPrices(db, ids));

export const ProjectStateEnum = builder.enumType('ProjectState', {
  description: "The state of a project's issuance.",
  values: {
    DEPLOYING: { description: 'The token is being deployed.' },
    MINTING: {
      description: 'The token is deployed, and the verified quantity is being minted into custody.',
    },
    OPEN: { description: 'The whole quantity is minted and for sale.' },
    REFUSED: {
      description:
        'The network refused the token, or an operator ended the issuance. Nothing was issued, and the reference ' +
        'can be used again.',
    },
    NEEDS_REVIEW: { description: 'An operator has to decide. Nothing is for sale.' },
  },
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
    quantityCO2e: t.expose('quantityTonnes', {
      type: 'Tonnes',
      description: 'The verified quantity, all of which is issued, in whole tonnes CO2e.',
    }),
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
