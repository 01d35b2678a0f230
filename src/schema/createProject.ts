/**
 * createProject: verified credits become a token.
 */
import { systemClock } from '../clock.ts';
import { createProject } from '../resolvers/createProject.ts';
import type { Project } from '../resolvers/findProject.ts';
import { readTransactions } from '../resolvers/findRetirement.ts';
import { forRoles } from './access.ts';
import { subjectOf } from './caller.ts';
import { IDEMPOTENCY_KEY } from './idempotency.ts';
import { hashOf } from './networkTransaction.ts';
import { builder } from './platform.ts';
import { ProjectRef } from './project.ts';
import { countryCode, idempotencyKey, label, vintageYear } from './text.ts';

const CreateProjectInput = builder.inputType('CreateProjectInput', {
  description:
    'A verified project, as its verification body describes it. Texts: at most 128 bytes of UTF-8 each.',
  fields: (t) => ({
    creditType: t.string({
      required: true,
      validate: { schema: label },
      description: 'The kind of credit, such as VCU.',
    }),
    verificationBodyRef: t.string({
      required: true,
      validate: { schema: label },
      description:
        "The verification body's reference. With the vintage year it names the credits, which can be issued once.",
    }),
    vintageYear: t.int({
      required: true,
      validate: { schema: vintageYear(systemClock) },
      description: 'The year that the reductions belong to: 1990 to next year.',
    }),
    quantityCO2e: t.field({
      type: 'Tonnes',
      required: true,
      description: 'The verified quantity, in whole tonnes CO2e: all of it is minted.',
    }),
    projectLocation: t.string({
      required: true,
      validate: { schema: label },
      description: "Where the project is, in words; part of the token's name.",
    }),
    projectType: t.string({
      required: true,
      validate: { schema: label },
      description: 'The kind of project, such as REDD+.',
    }),
    countryCode: t.string({
      required: true,
      validate: { schema: countryCode },
      description: 'ISO 3166-1 alpha-2, in capitals.',
    }),
    idempotencyKey: t.string({
      required: true,
      validate: { schema: idempotencyKey },
      description: IDEMPOTENCY_KEY,
    }),
  }),
});

const CreateProjectPayload = builder.objectRef<Project>('CreateProjectPayload').implement({
  description: 'The project, in the state reached when the answer was given. Its issue goes on by itself.',
  fields: (t) => ({
    tokenAddress: t.exposeString('tokenAddress', {
      nullable: true,
      description: "The token's address; null while the network has not deployed it.",
    }),
    txHash: t.string({
      nullable: true,
      description: 'The hash of the transaction that deploys the token; null while none is signed.',
      resolve: async ({ id }, _args, { dependencies }) =>
        hashOf(await readTransactions(dependencies, id), 'deployCarbonCredit'),
    }),
    project: t.field({ type: ProjectRef, description: 'The project.', resolve: (project) => project }),
  }),
});

builder.mutationField('createProject', (t) =>
  t.field({
    ...forRoles(
      ['developer', 'operator'],
      'Issues verified credits: deploys a token (symbol CARB) and mints the whole quantity into custody. Waits for the ' +
        'network up to a limit, then answers with the state reached. Errors: CONFLICT when the same reference and ' +
        'vintage are issued with other details, IDEMPOTENCY_CONFLICT, LEDGER_REJECTED.',
    ),
    type: CreateProjectPayload,
    args: { input: t.arg({ type: CreateProjectInput, required: true, description: 'The project.' }) },
    resolve: (_root, { input }, { caller, dependencies }) =>
      createProject(dependencies, subjectOf(caller), input),
  }),
);
