/**
 * Retirement: a buyer's request to put credits out of circulation, with its states and times.
 */
import type { Caller } from '../../identity/roles.ts';
import {
  findRetirement,
  FOLLOWED_RETIREMENTS,
  readTransactions,
  type Retirement,
} from '../../resolvers/carbon/findRetirement.ts';
import { forRoles } from '../core/access.ts';
import { maySeeBuyer } from '../core/caller.ts';
import type { Context } from '../core/context.ts';
import { hashOf, NetworkTransactionRef } from '../operations/networkTransaction.ts';
import { UPDATES_UNTIL_FINAL, updatesOf } from '../core/updates.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { builder } from '../core/builder.ts';
import { projectOf, ProjectRef } from './project.ts';
import { moment, momentOrNull } from '../core/time.ts';

export const RetirementStateEnum = builder.enumType('RetirementState', {
  description: 'State of a retirement.',
  values: {
    PENDING: { description: 'The credits are held; the burn is in progress in the background.' },
    RETIRED: { description: 'Burned permanently.' },
    REFUSED: {
      description:
        'The network refused the burn, or an operator ended it; nothing was burned, and the credits were returned to the buyer.',
    },
    NEEDS_REVIEW: {
      description:
        'No rule can decide whether the burn landed; the credits are held, and an operator decides.',
    },
  },
});

export const RetirementRef = builder.objectRef<Retirement>('Retirement');

function maySee(caller: Caller | null, { buyerId }: Retirement): boolean {
  return maySeeBuyer(caller, buyerId);
}

/** Null when there is none, or the caller may not see it. */
async function findVisibleRetirement(
  { caller, dependencies }: Context,
  id: string,
): Promise<Retirement | null> {
  const found = await findRetirement(dependencies, id);
  return found !== null && maySee(caller, found) ? found : null;
}

builder.node(RetirementRef, {
  ...ownedBy<Retirement>(({ buyerId }) => [buyerId]),
  description:
    "A buyer's retirement on this platform. Visible to the buyer and to operators; the record on the network " +
    'is public in the registry.',
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, context) => findVisibleRetirement(context, id),
  fields: (t) => ({
    state: t.expose('state', { type: RetirementStateEnum, description: 'Its state.' }),
    buyerId: t.exposeString('buyerId', { description: 'The buyer whose credits are retired.' }),
    project: t.field({
      type: ProjectRef,
      description: 'The project whose credits are retired.',
      resolve: ({ projectId }, _args, context) => projectOf(context, projectId),
    }),
    tonnes: t.expose('amountTonnes', { type: 'Tonnes', description: 'Whole tonnes CO2e.' }),
    beneficiary: t.exposeString('beneficiary', {
      description: 'The beneficiary: a text label, not an address.',
    }),
    note: t.exposeString('note', { description: 'The remark on the public record; may be empty.' }),
    txHash: t.string({
      nullable: true,
      description:
        'The hash of the burn that landed, or else of the latest one signed. It is set before `record` ' +
        'is. `transactions` has every attempt with its state. Null while none is signed.',
      resolve: ({ id, txHash }, _args, { dependencies }) => txHash ?? hashOf(dependencies, id, 'retire'),
    }),
    recordIndex: t.exposeInt('recordIndex', {
      nullable: true,
      description:
        "The index of its record in the token's retirement list, set a moment before `record` is; null " +
        'until it is RETIRED.',
    }),
    ledger: t.expose('ledger', {
      type: 'LedgerNumber',
      nullable: true,
      description: 'The ledger that the burn landed in; null until then.',
    }),
    stateReason: t.exposeString('stateReason', {
      nullable: true,
      description: 'Why it was refused or needs review, as text; null otherwise.',
    }),
    createdAt: t.expose('createdAt', moment('When the credits were held')),
    settledAt: t.expose('settledAt', momentOrNull('When it became RETIRED or REFUSED')),
    transactions: t.field({
      type: [NetworkTransactionRef],
      description: 'Every transaction that was signed for it, oldest first; at most one of them landed.',
      resolve: ({ id }, _args, { dependencies }) => readTransactions(dependencies, id),
    }),
  }),
});

builder.queryField('retirement', (t) =>
  t.field({
    ...forRoles(
      ['buyer', 'operator'],
      "A retirement by its id, with its present state; null when there is none, and for another buyer's.",
    ),
    type: RetirementRef,
    nullable: true,
    args: {
      id: t.arg.globalID({ for: RetirementRef, required: true, description: 'The `id` of the retirement.' }),
    },
    resolve: (_root, { id }, context) => findVisibleRetirement(context, id.id),
  }),
);

const followed = { kind: FOLLOWED_RETIREMENTS, find: findRetirement, maySee, noun: 'retirement' };

builder.subscriptionField('retirementUpdated', (t) =>
  t.field({
    ...forRoles(
      ['buyer', 'operator'],
      `A retirement. ${UPDATES_UNTIL_FINAL}RETIRED or REFUSED. NOT_FOUND for another buyer's retirement.`,
    ),
    type: RetirementRef,
    args: {
      id: t.arg.globalID({ for: RetirementRef, required: true, description: 'The `id` of the retirement.' }),
    },
    subscribe: (_root, args, context) => updatesOf(followed, args, context),
    resolve: (retirement: Retirement) => retirement,
  }),
);
