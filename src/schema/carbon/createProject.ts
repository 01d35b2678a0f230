/**
 * createProject: issues verified credits as a token.
 */
import { systemClock } from '../../lib/clock.ts';
import type { ApprovalRequest } from '../../resolvers/approvals/approvalRequests.ts';
import { requestProjectApproval } from '../../resolvers/approvals/requestApproval.ts';
import { createProject } from '../../resolvers/carbon/createProject.ts';
import type { Project } from '../../resolvers/carbon/findProject.ts';
import { APPROVAL } from '../approvals/approvalRequest.ts';
import { forRoles } from '../core/access.ts';
import { requireCaller, subjectOf } from '../core/caller.ts';
import { hashOf } from '../operations/networkTransaction.ts';
import { builder } from '../core/builder.ts';
import { IDEMPOTENCY_KEY, inputOf, required } from '../core/inputs.ts';
import { MoneyInput } from '../core/money.ts';
import { ProjectRef } from './project.ts';
import { PRICE_LIMITS } from './setProjectPrice.ts';
import { label, vintageYear } from '../core/text.ts';

const CreateProjectInput = builder.inputType('CreateProjectInput', {
  description:
    'A verified project as described by its verification body. Texts: at most 128 bytes of UTF-8 each.',
  fields: (t) => ({
    creditType: t.string(required(label, 'The kind of credit, such as VCU.')),
    verificationBodyRef: t.string({
      required: true,
      validate: { schema: label },
      description:
        "The verification body's reference. Together with the vintage year, it identifies the credits, which can be " +
        'issued only once.',
    }),
    vintageYear: t.int(
      required(vintageYear(systemClock), 'The year of the emission reductions: 1990 to next year.'),
    ),
    quantityCO2e: t.field({
      type: 'Tonnes',
      required: true,
      description: 'The verified quantity, in whole tonnes CO2e. The whole quantity is minted.',
    }),
    projectLocation: t.string(
      required(label, "The project's location as text, which is part of the token's name."),
    ),
    projectType: t.string(required(label, 'The kind of project, such as REDD+.')),
    countryCode: t.field({
      type: 'CountryCode',
      required: true,
      description: 'The country of the project: ISO 3166-1 alpha-2, in upper case.',
    }),
    pricePerTonne: t.field({
      type: MoneyInput,
      description: `The first price of a tonne. ${PRICE_LIMITS} Ignored when the project already exists.`,
    }),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

interface Answer {
  project: Project | null;
  approval: ApprovalRequest | null;
}

const CreateProjectPayload = builder.objectRef<Answer>('CreateProjectPayload').implement({
  description:
    'The project in the state that it had reached when the response was sent, or the request for approval. The ' +
    'issuance of the project continues in the background.',
  fields: (t) => ({
    tokenAddress: t.field({
      type: 'Address',
      nullable: true,
      description:
        'The address of the token, the same as `project { tokenAddress }`. Null while the network has not deployed the token.',
      resolve: ({ project }) => project?.tokenAddress ?? null,
    }),
    txHash: t.string({
      nullable: true,
      description:
        'The hash of the transaction that deploys the token. Null while no transaction is signed. `project { ' +
        "transactions }` also has the mint's transactions, with their states.",
      resolve: ({ project }, _args, context) => project && hashOf(context, project.id, 'deployCarbonCredit'),
    }),
    project: t.expose('project', {
      type: ProjectRef,
      nullable: true,
      description: 'The project. Null while the mutation awaits approval.',
    }),
    approvalRequest: t.expose('approval', APPROVAL),
  }),
});

builder.mutationField('createProject', (t) =>
  t.field({
    ...forRoles(
      ['developer', 'operator'],
      'Issues verified credits: deploys a token (symbol CARB) and mints the whole quantity into custody. Waits ' +
        'for the network up to a limit, then returns the state reached. A large quantity may need approval ' +
        '(`approvalRequest`). Errors: CONFLICT (the same reference and vintage are issued with other details), ' +
        'IDEMPOTENCY_CONFLICT, LEDGER_REFUSED.',
    ),
    type: CreateProjectPayload,
    args: inputOf(CreateProjectInput, 'The project to create.'),
    recordedInput: {
      shown: [
        'creditType',
        'vintageYear',
        'quantityCO2e',
        'projectType',
        'countryCode',
        'pricePerTonne',
        'idempotencyKey',
      ],
      hidden: ['verificationBodyRef', 'projectLocation'],
    },
    resolve: async (_root, { input }, { caller, dependencies }): Promise<Answer> => {
      const asked = { ...input, pricePerTonne: input.pricePerTonne ?? null };
      const approval = await requestProjectApproval(dependencies, requireCaller(caller), asked);
      if (approval) return { project: null, approval };
      return { project: await createProject(dependencies, subjectOf(caller), asked), approval };
    },
  }),
);
