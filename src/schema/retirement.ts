/**
 * Retirement: a buyer's request to put credits out of circulation, with its states and times.
 */
import { unixSeconds } from '../clock.ts';
import { findRetirement, readTransactions } from '../resolvers/findRetirement.ts';
import type { Retirement } from '../resolvers/findRetirement.ts';
import { forRoles } from './access.ts';
import { maySeeBuyer } from './caller.ts';
import { hashOf, NetworkTransactionRef } from './networkTransaction.ts';
import { notFound } from './notFound.ts';
import { builder } from './platform.ts';
import { projectOf, ProjectRef } from './project.ts';

export const RetirementStateEnum = builder.enumType('RetirementState', {
  description: 'How far a retirement is.',
  values: {
    PENDING: { description: 'The credits are held; the burn is on its way and goes on by itself.' },
    RETIRED: { description: 'Burned, for ever.' },
    REFUSED: { description: 'The network refused the burn, and the credits are back with the buyer.' },
    NEEDS_REVIEW: {
      description: 'Whether the burn landed can not be decided by rule; the credits are held.',
    },
  },
});

export const RetirementRef = builder.objectRef<Retirement>('Retirement');

builder.node(RetirementRef, {
  description:
    "A buyer's retirement on this platform. Seen by the buyer's and operators' tokens; what it became on the network " +
    'is public in the registry.',
  id: { resolve: ({ id }) => id },
  loadOne: async (id: string, { caller, dependencies }) => {
    const found = await findRetirement(dependencies, id);
    return found !== null && maySeeBuyer(caller, found.buyerId) ? found : null;
  },
  fields: (t) => ({
    state: t.expose('state', { type: RetirementStateEnum, description: 'How far it is.' }),
    buyerId: t.exposeString('buyerId', { description: 'Whose credits they were.' }),
    project: t.field({
      type: ProjectRef,
      description: 'The project whose credits are retired.',
      resolve: ({ projectId }, _args, context) => projectOf(context, projectId),
    }),
    tonnes: t.expose('amountTonnes', { type: 'Tonnes', description: 'Whole tonnes CO2e.' }),
    beneficiary: t.exposeString('beneficiary', {
      description: 'Who the retirement is for: a label, not an address.',
    }),
    note: t.exposeString('note', { description: 'The remark on the network; may be empty.' }),
    txHash: t.string({
      nullable: true,
      description:
        'The hash of the burn: of the one that landed, or of the latest that may. Null while none is signed.',
      resolve: async ({ id, txHash }, _args, { dependencies }) =>
        txHash ?? hashOf(await readTransactions(dependencies, id), 'retire'),
    }),
    recordIndex: t.exposeInt('recordIndex', {
      nullable: true,
      description: "The index of its record in the token's retirement list; null until it is RETIRED.",
    }),
    ledger: t.expose('ledger', {
      type: 'LedgerNumber',
      nullable: true,
      description: 'The ledger that the burn landed in; null until then.',
    }),
    refusalMessage: t.exposeString('refusalMessage', {
      nullable: true,
      description: 'Why it was refused or needs review, in words; null otherwise.',
    }),
    requestedAt: t.field({
      type: 'UnixTime',
      description: 'When the credits were held, in Unix seconds.',
      resolve: ({ requestedAt }) => unixSeconds(requestedAt),
    }),
    settledAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When it became RETIRED or REFUSED, in Unix seconds; null before.',
      resolve: ({ settledAt }) => (settledAt === null ? null : unixSeconds(settledAt)),
    }),
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
      "A retirement by its id: how to ask again what became of it. NOT_FOUND for another buyer's.",
    ),
    type: RetirementRef,
    args: {
      id: t.arg.globalID({ for: RetirementRef, required: true, description: 'The `id` of the retirement.' }),
    },
    resolve: async (_root, { id }, { caller, dependencies }) => {
      const found = await findRetirement(dependencies, id.id);
      if (found === null || !maySeeBuyer(caller, found.buyerId)) throw notFound('retirement');
      return found;
    },
  }),
);
