/**
 * buyerAccount: a buyer's balances and statement.
 */
import { z } from 'zod';
import { unixSeconds } from '../../lib/clock.ts';
import {
  countBalances,
  countStatement,
  listBalances,
  listStatement,
} from '../../resolvers/carbon/readBuyerAccount.ts';
import type { BuyerBalance, StatementEntry } from '../../resolvers/carbon/readBuyerAccount.ts';
import { forBuyerOrOperator, OWN_BUYER_ID } from '../core/access.ts';
import { maySeeBuyer, subjectOf } from '../core/caller.ts';
import { cursorValues, listNames, pageOf, valueCursors } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { projectOf, ProjectRef } from './project.ts';
import { buyerId } from '../core/text.ts';

const balanceCursors = valueCursors('balances', z.string().max(128));
const statementCursors = valueCursors(
  'statement',
  cursorValues.bigint.transform((digits) => BigInt(digits)),
);

const BuyerBalanceRef = builder.objectRef<BuyerBalance>('BuyerBalance').implement({
  description: "What a buyer owns of one project's credits.",
  fields: (t) => ({
    project: t.field({
      type: ProjectRef,
      description: 'The project.',
      resolve: ({ projectId }, _args, context) => projectOf(context, projectId),
    }),
    tokenAddress: t.expose('tokenAddress', {
      type: 'Address',
      description: "The address of the project's token.",
    }),
    tonnes: t.expose('balanceTonnes', {
      type: 'Tonnes',
      description:
        'Whole tonnes CO2e that can be retired now, without those held for retirements in progress.',
    }),
  }),
});

const StatementEntryKind = builder.enumType('StatementEntryKind', {
  description: "Why a buyer's balance changed.",
  values: {
    PURCHASE: { value: 'purchase', description: 'The buyer purchased credits.' },
    RETIREMENT_HOLD: { value: 'retirement_hold', description: 'Credits were held for a retirement.' },
    RETIREMENT_RETURN: {
      value: 'retirement_return',
      description: 'The network refused the burn, and the credits were returned.',
    },
    TRANSFER: {
      value: 'credit_transfer',
      description: 'Credits came from another buyer, or went to one: `change` tells which.',
    },
  } as const,
});

export const StatementEntryRef = builder.objectRef<StatementEntry>('StatementEntry').implement({
  description: "One change of a buyer's balance in the platform's double-entry books; it is never changed.",
  fields: (t) => ({
    version: t.string({
      description: "Its position in the balance's history, from 1 without gaps, as a decimal string.",
      resolve: ({ version }) => version.toString(),
    }),
    kind: t.field({ type: StatementEntryKind, description: 'Why the balance changed.', resolve: kindOf }),
    change: t.string({
      description: 'Whole tonnes CO2e as a decimal string, negative when they left the balance.',
      resolve: ({ amountTonnes }) => amountTonnes.toString(),
    }),
    balanceBefore: t.expose('balanceBeforeTonnes', {
      type: 'Tonnes',
      description: 'The balance before, in whole tonnes CO2e.',
    }),
    balanceAfter: t.expose('balanceAfterTonnes', {
      type: 'Tonnes',
      description: 'The balance after, in whole tonnes CO2e.',
    }),
    postedAt: t.field({
      type: 'UnixTime',
      description: 'When it was booked, in Unix seconds.',
      resolve: ({ postedAt }) => unixSeconds(postedAt),
    }),
  }),
});

/** Never those of accounts that are no buyer's. */
function kindOf({ kind }: StatementEntry) {
  if (kind === 'issue' || kind === 'retirement_settle') {
    throw new Error(`a buyer's account has an entry of kind ${kind}`);
  }
  return kind;
}

export const BuyerAccountRef = builder.objectRef<{ buyerId: string }>('BuyerAccount');

builder.node(BuyerAccountRef, {
  description: "A buyer's account in the platform's books. Visible to the buyer and to operators.",
  id: { resolve: ({ buyerId: id }) => id },
  loadOne: (id: string, { caller }) => (maySeeBuyer(caller, id) ? { buyerId: id } : null),
  fields: (t) => ({
    buyerId: t.exposeString('buyerId', { description: 'The buyer.' }),
    balances: t.connection(
      {
        type: BuyerBalanceRef,
        description: 'One balance for each project of which the buyer ever bought credits, a page at a time.',
        resolve: (account, args, { dependencies }) =>
          pageOf(args, balanceCursors, {
            list: (page) => listBalances(dependencies, account.buyerId, page),
            cursorOf: ({ tokenAddress }) => tokenAddress,
            count: () => countBalances(dependencies, account.buyerId),
          }),
      },
      ...listNames('BuyerBalance'),
    ),
    statement: t.connection(
      {
        type: StatementEntryRef,
        description:
          "The entries of one project's credits, oldest first, a page at a time. NOT_FOUND for an unknown token.",
        args: {
          tokenAddress: t.arg({
            type: 'Address',
            required: true,
            description: "The address of the project's token.",
          }),
        },
        resolve: (account, args, { dependencies }) =>
          pageOf(args, statementCursors, {
            list: (page) => listStatement(dependencies, account.buyerId, args.tokenAddress, page),
            cursorOf: ({ version }) => version,
            count: () => countStatement(dependencies, account.buyerId, args.tokenAddress),
          }),
      },
      ...listNames('StatementEntry'),
    ),
  }),
});

builder.queryField('buyerAccount', (t) =>
  t.field({
    ...forBuyerOrOperator(
      ({ buyerId: id }: { buyerId?: string | null | undefined }) => id,
      "A buyer's balances and statement. The account of a buyer who never bought is empty.",
    ),
    type: BuyerAccountRef,
    nullable: true,
    args: {
      buyerId: t.arg.string({ validate: { schema: buyerId }, description: OWN_BUYER_ID }),
    },
    resolve: (_root, { buyerId: id }, { caller }) => ({ buyerId: id ?? subjectOf(caller) }),
  }),
);
