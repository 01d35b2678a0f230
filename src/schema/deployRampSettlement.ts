/**
 * deployRampSettlement: the contract that takes cash-outs into custody, once per platform.
 */
import { unixSeconds } from '../clock.ts';
import { deployRampSettlement } from '../resolvers/deployRampSettlement.ts';
import type { SettlementDeployment } from '../resolvers/deployRampSettlement.ts';
import { forRoles } from './access.ts';
import { subjectOf } from './caller.ts';
import { IDEMPOTENCY_KEY } from './idempotency.ts';
import { builder } from './platform.ts';
import { address, idempotencyKey } from './text.ts';

const DeployRampSettlementInput = builder.inputType('DeployRampSettlementInput', {
  description: 'The settlement contract to deploy.',
  fields: (t) => ({
    treasury: t.string({
      validate: { schema: address },
      description: "Where confirmed deposits go; the platform's treasury when left out.",
    }),
    idempotencyKey: t.string({
      required: true,
      validate: { schema: idempotencyKey },
      description: IDEMPOTENCY_KEY,
    }),
  }),
});

const SettlementDeploymentStateEnum = builder.enumType('SettlementDeploymentState', {
  description: 'How far the deploy of a settlement contract is.',
  values: {
    DEPLOYING: { description: 'On its way to the network.' },
    DEPLOYED: { description: 'There. RAMP_SETTLEMENT_ADDRESS has to name it to the server.' },
    REFUSED: { description: 'The network refused it.' },
    NEEDS_REVIEW: { description: 'An operator has to decide.' },
  },
});

const DeployRampSettlementPayload = builder
  .objectRef<SettlementDeployment>('DeployRampSettlementPayload')
  .implement({
    description: 'The deploy, in the state reached when the answer was given. It goes on by itself.',
    fields: (t) => ({
      state: t.expose('state', { type: SettlementDeploymentStateEnum, description: 'How far it is.' }),
      settlementAddress: t.exposeString('settlementAddress', {
        nullable: true,
        description: 'The address to set as RAMP_SETTLEMENT_ADDRESS; null until it is deployed.',
      }),
      treasuryAddress: t.exposeString('treasuryAddress', { description: 'Where confirmed deposits go.' }),
      txHash: t.exposeString('txHash', {
        nullable: true,
        description: 'The hash of the deploy; null until it landed.',
      }),
      requestedAt: t.field({
        type: 'UnixTime',
        description: 'When it was asked for, in Unix seconds.',
        resolve: ({ createdAt }) => unixSeconds(createdAt),
      }),
    }),
  });

builder.mutationField('deployRampSettlement', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      'Deploys the settlement contract that takes cash-outs into custody: once per platform. The embedded network has ' +
        'one from the start. Errors: CONFLICT when there is one, IDEMPOTENCY_CONFLICT, LEDGER_REJECTED.',
    ),
    type: DeployRampSettlementPayload,
    args: {
      input: t.arg({ type: DeployRampSettlementInput, required: true, description: 'The contract.' }),
    },
    resolve: (_root, { input }, { caller, dependencies }) =>
      deployRampSettlement(dependencies, subjectOf(caller), input),
  }),
);
