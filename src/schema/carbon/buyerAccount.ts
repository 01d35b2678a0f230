/**
 * buyerAccount: a buyer's balances. The buyer's statement and purchases are in their own files.
 */
import * as z from 'zod';
import {
  listBalances,
  type BuyerBalance,
  type StatementCursor,
} from '../../resolvers/carbon/readBuyerAccount.ts';
import { forBuyerOrOperator, OWN_BUYER_ID } from '../core/access.ts';
import { maySeeBuyer, subjectOf } from '../core/caller.ts';
import { cursorValues, listCursors, listNames, pageOf, valueCursors } from '../core/paging.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { builder } from '../core/builder.ts';
import { ADDRESS } from '../core/scalars.ts';
import { ofProject } from './project.ts';
import { subject } from '../core/text.ts';

const balanceCursors = valueCursors('balances', z.string().regex(ADDRESS));
const BuyerBalanceRef = builder.objectRef<BuyerBalance>('BuyerBalance').implement({
  description: "A buyer's balance of the credits of one project.",
  fields: (t) => ({
    project: t.field(ofProject('The project.')),
    tokenAddress: t.expose('tokenAddress', {
      type: 'Address',
      description: "The address of the project's token.",
    }),
    tonnes: t.expose('balanceTonnes', {
      type: 'Tonnes',
      description:
        'Whole tonnes CO2e that can be retired now, excluding credits held for retirements in progress.',
    }),
  }),
});

export const BuyerAccountRef = builder.objectRef<{ buyerId: string }>('BuyerAccount');

builder.node(BuyerAccountRef, {
  ...ownedBy<{ buyerId: string }>(({ buyerId: owner }) => [owner]),
  description: "A buyer's account in the platform's books. Visible to the buyer and to operators.",
  id: { resolve: ({ buyerId: id }) => id },
  loadOne: (id: string, { caller }) => (maySeeBuyer(caller, id) ? { buyerId: id } : null),
  fields: (t) => ({
    buyerId: t.exposeString('buyerId', { description: 'The subject of the buyer.' }),
    balances: t.connection(
      {
        type: BuyerBalanceRef,
        description:
          "A paginated list of the buyer's balances, one for each project whose credits the buyer ever had. " +
          '`statement` lists the changes of each balance.',
        resolve: (account, args, { dependencies }) =>
          pageOf(args, balanceCursors, listBalances(dependencies, account.buyerId)),
      },
      ...listNames('BuyerBalance'),
    ),
  }),
});

builder.queryField('buyerAccount', (t) =>
  t.field({
    ...forBuyerOrOperator(
      ({ buyerId: id }: { buyerId?: string | null | undefined }) => id,
      'The account of a buyer, with its balances and its statement. The account of a buyer who never bought ' +
        'credits is empty.',
    ),
    type: BuyerAccountRef,
    args: {
      buyerId: t.arg.string({ validate: { schema: subject }, description: OWN_BUYER_ID }),
    },
    resolve: (_root, { buyerId: id }, { caller }) => ({ buyerId: id ?? subjectOf(caller) }),
  }),
);

/** The cursors of a list of one buyer's transfers. */
export const transferCursors = (list: string) =>
  listCursors<StatementCursor>(list, {
    postedAt: cursorValues.moment,
    accountId: cursorValues.bigint,
    version: cursorValues.bigint,
  });
