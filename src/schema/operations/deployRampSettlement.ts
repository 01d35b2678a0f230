/**
 * deployRampSettlement: deploys the contract that holds receipt tokens during off-ramp sessions, once per
 * platform.
 */
import { readSigned } from './networkTransaction.ts';
import { deployRampSettlement } from '../../resolvers/operations/deployRampSettlement.ts';
import type { SettlementDeployment } from '../../resolvers/operations/deployRampSettlement.ts';
import { forRoles } from '../core/access.ts';
import { subjectOf } from '../core/caller.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { IDEMPOTENCY_KEY, inputOf, payloadOf, resultOf } from '../core/inputs.ts';
import { moment } from '../core/time.ts';

const DeployRampSettlementInput = builder.inputType('DeployRampSettlementInput', {
  description: 'The settlement contract to deploy.',
  fields: (t) => ({
    treasuryAddress: t.field({
      type: 'Address',
      description:
        'The address to which deposits are released when the payout is settled. Defaults to the custody address.',
    }),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

const SettlementDeploymentStateEnum = enumOf(
  'SettlementDeploymentState',
  'The state of the deployment of a settlement contract.',
  {
    DEPLOYING: 'The contract is being deployed.',
    DEPLOYED: 'The contract is deployed. The server uses it once RAMP_SETTLEMENT_ADDRESS names it.',
    REFUSED: 'The network refused the deployment, or an operator ended it.',
    NEEDS_REVIEW: 'An operator has to decide.',
  },
);

const SettlementDeploymentRef = builder.objectRef<SettlementDeployment>('SettlementDeployment').implement({
  description: 'The deployment of a settlement contract.',
  fields: (t) => ({
    state: t.expose('state', {
      type: SettlementDeploymentStateEnum,
      description: 'The state of the deployment.',
    }),
    settlementAddress: t.expose('settlementAddress', {
      type: 'Address',
      nullable: true,
      description: 'The address to set as RAMP_SETTLEMENT_ADDRESS. Null until the contract is deployed.',
    }),
    treasuryAddress: t.expose('treasuryAddress', {
      type: 'Address',
      description: 'The address to which deposits are released when the payout is settled.',
    }),
    txHash: t.string({
      nullable: true,
      description:
        'The hash of the transaction that deployed the contract. Null until the transaction has landed, and when an ' +
        'operator adopted a contract that another database deployed.',
      resolve: async ({ id }, _args, context) =>
        (await readSigned(context, id)).find(({ state }) => state === 'LANDED')?.txHash ?? null,
    }),
    createdAt: t.expose('createdAt', moment('The time the deployment was requested')),
  }),
});

builder.mutationField('deployRampSettlement', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Deploys the settlement contract that holds receipt tokens during off-ramp sessions, once per platform. The ' +
        'embedded network has a settlement contract from the start. Errors: CONFLICT (a settlement contract ' +
        'exists), IDEMPOTENCY_CONFLICT, LEDGER_REFUSED, LEDGER_UNAVAILABLE.',
    ),
    type: payloadOf(
      'DeployRampSettlementPayload',
      'The deployment in the state that it had reached when the response was sent. Processing continues in the background.',
      {
        settlementDeployment: resultOf(SettlementDeploymentRef, 'The deployment.'),
      },
    ),
    args: inputOf(DeployRampSettlementInput, 'The settlement contract to deploy.'),
    recordedInput: { shown: ['idempotencyKey'], hidden: ['treasuryAddress'] },
    resolve: (_root, { input }, { caller, dependencies }) =>
      deployRampSettlement(dependencies, subjectOf(caller), input),
  }),
);
