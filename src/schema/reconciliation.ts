/**
 * reconciliation: one project's books against its token, for those who have to answer for it.
 */
import type { Reconciliation } from '../audit/reconcileProject.ts';
import { reconcile } from '../resolvers/reconcile.ts';
import { forRoles } from './access.ts';
import { BooksPositionRef } from './booksPosition.ts';
import { builder } from './platform.ts';
import { address } from './text.ts';

const NetworkPositionRef = builder.objectRef<Reconciliation['network']>('NetworkPosition').implement({
  description: "A token's sums as the network tells them.",
  fields: (t) => ({
    totalSupply: t.expose('totalSupply', {
      type: 'BaseUnits',
      description: 'In circulation, in base units.',
    }),
    totalRetired: t.expose('totalRetired', { type: 'BaseUnits', description: 'Burned, in base units.' }),
    totalRetirements: t.exposeInt('totalRetirements', {
      description: 'How many retirement records there are.',
    }),
    custodyBalance: t.expose('custodyBalance', {
      type: 'BaseUnits',
      description: 'What custody holds, in base units: the unsold, the buyers’ and what is being retired.',
    }),
  }),
});

const FindingRef = builder.objectRef<Reconciliation['findings'][number]>('Finding').implement({
  description: 'A broken promise, with the facts that show it.',
  fields: (t) => ({
    invariant: t.exposeString('invariant', {
      description: 'Which promise: I1 to I10, see docs/invariants.md.',
    }),
    message: t.exposeString('message', { description: 'What is not as it should be.' }),
  }),
});

const ReconciliationRef = builder.objectRef<Reconciliation>('Reconciliation').implement({
  description: "A project's books and its token, side by side.",
  fields: (t) => ({
    agrees: t.boolean({
      description: 'Nothing is unsettled, everything was compared, and nothing was found.',
      resolve: ({ unsettled, findings }) => unsettled === 0 && findings.length === 0,
    }),
    unsettled: t.exposeInt('unsettled', {
      description:
        'Network calls of this project that are under way: while there are any, sums are not compared.',
    }),
    books: t.expose('books', { type: BooksPositionRef, description: "The platform's books." }),
    network: t.expose('network', { type: NetworkPositionRef, description: 'The token on the network.' }),
    findings: t.expose('findings', {
      type: [FindingRef],
      description: 'What does not agree; empty when all does.',
    }),
  }),
});

builder.queryField('reconciliation', (t) =>
  t.field({
    ...forRoles(
      ['operator'],
      "Compares one project's books with its token, now. Errors: NOT_FOUND, LEDGER_UNAVAILABLE.",
    ),
    type: ReconciliationRef,
    args: {
      tokenAddress: t.arg.string({
        required: true,
        validate: { schema: address },
        description: "The address of the project's token.",
      }),
    },
    resolve: (_root, { tokenAddress }, { dependencies }) => reconcile(dependencies, tokenAddress),
  }),
);
