/**
 * BooksBalances: a project's tonnes by account of the platform's books.
 */
import type { ProjectBalances } from '../../ledger/books/readBalances.ts';
import { builder } from '../core/builder.ts';

export const BooksBalancesRef = builder.objectRef<ProjectBalances>('BooksBalances').implement({
  description:
    "The tonnes of a project in each account of the platform's books: issued = inventory + heldByBuyers + " +
    'retiring + retired.',
  fields: (t) => ({
    issued: t.expose('issued', {
      type: 'Tonnes',
      description:
        'Whole tonnes CO2e that were minted: 0 until the project is OPEN, then equal to its `quantityCO2e`.',
    }),
    inventory: t.expose('inventory', {
      type: 'Tonnes',
      description: 'Whole tonnes CO2e that are unsold; the same value as `Project.unsoldTonnes`.',
    }),
    heldByBuyers: t.expose('heldByBuyers', {
      type: 'Tonnes',
      description: 'Whole tonnes CO2e that buyers own.',
    }),
    retiring: t.expose('retiring', {
      type: 'Tonnes',
      description: 'Whole tonnes CO2e that are held for retirements whose burn is not settled.',
    }),
    retired: t.expose('retired', {
      type: 'Tonnes',
      description: 'Whole tonnes CO2e that are permanently out of circulation.',
    }),
  }),
});
