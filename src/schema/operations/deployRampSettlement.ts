/**
 * deployRampSettlement: deploys the contract that holds receipt tokens during off-ramp sessions, once per
 * platform.
 */
import { deployRampSettlement } from '../../resolvers/operations/deployRampSettlement.ts';
import type { SettlementDeployment } from '../../resolvers/operations/deployRampSettlement.ts';
import { forRoles } from '../core/access.ts';
import { subjectOf } from '../core/caller.ts';
import { IDEMPOTENCY_KEY } from '../core/idempotency.ts';
import { builder } from '../core/builder.ts';
import { moment } from '../core/time.ts';

const DeployRampSettlementInput = builder.inputType('DeployRampSettlementInput', {
  description: 'The settlement contract to deploy.',
  fields: (t) => ({
    treasuryAddress: t.field({
      type: 'Address',
      description:
        'The address that deposits are released to when the payout is settled. Defaults to the custody address.',
    }),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

const SettlementDeploymentStateEnum = builder.enumType('SettlementDeploymentState', {
  description: 'State of the deployment of a settlement contract.',
  values: {
    DEPLOYING: { description: 'Being deployed.' },
    DEPLOYED: { description: 'Deployed. The server uses it once RAMP_SETTLEMENT_ADDRESS names it.' },
    REFUSED: { description: 'The network refused it, or an operator ended it.' },
    NEEDS_REVIEW: { description: 'An operator must decide.' },
  },
});

const SettlementDeploymentRef = builder.objectRef<SettlementDeployment>('SettlementDeployment').implement({
  description: 'The deployment of a settlement contract.',
  fields: (t) => ({
    state: t.expose('state', { type: SettlementDeploymentStateEnum, description: 'Its state.' }),
    settlementAddress: t.expose('settlementAddress', {
      type: 'Address',
      nullable: true,
      description: 'The address to set as RAMP_SETTLEMENT_ADDRESS; null until it is deployed.',
    }),
    treasuryAddress: t.expose('treasuryAddress', {
      type: 'Address',
      description: 'The address that deposits are released to when the payout is settled.',
    }),
    txHash: t.exposeString('txHash', {
      nullable: true,
      description:
        'The hash of the deploying transaction; null until it landed, and where an operator adopted what another database deployed.',
    }),
    createdAt: t.expose('createdAt', moment('When it was requested')),
  }),
});

const DeployRampSettlementPayload = builder
  .objectRef<SettlementDeployment>('DeployRampSettlementPayload')
  .implement({
    description:
      'The deployment in the state that it had reached when the response was sent. Processing continues in the background.',
    fields: (t) => ({
      settlementDeployment: t.field({
        type: SettlementDeploymentRef,
        nullable: true,
        description: 'The deployment; null only where the mutation was not done.',
        resolve: (deployment) => deployment,
      }),
    }),
  });

builder.mutationField('deployRampSettlement', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Deploys the settlement contract that holds receipt tokens during off-ramp sessions: once per platform. The embedded network has ' +
        'one from the start. Errors: CONFLICT when there is one, IDEMPOTENCY_CONFLICT, LEDGER_REFUSED, ' +
        'LEDGER_UNAVAILABLE.',
    ),
    type: DeployRampSettlementPayload,
    nullable: true,
    args: {
      input: t.arg({ type: DeployRampSettlementInput, required: true, description: 'The contract.' }),
    },
    recordedInput: { shown: ['idempotencyKey'], hidden: ['treasuryAddress'] },
    resolve: (_root, { input }, { caller, dependencies }) =>
      deployRampSettlement(dependencies, subjectOf(caller), input),
  }),
);
