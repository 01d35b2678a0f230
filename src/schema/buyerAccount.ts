/**
 * buyerAccount: what a buyer owns, and how it came to that.
 */
import { z } from 'zod';
import { unixSeconds } from '../clock.ts';
import { listBalances, listStatement } from '../resolvers/readBuyerAccount.ts';
import type { BuyerBalance, StatementEntry } from '../resolvers/readBuyerAccount.ts';
import { forBuyerOrOperator } from './access.ts';
import { encodeGlobalId } from './globalIds.ts';
import { cursorValues, listNames, pageOf, valueCursors } from './paging.ts';
import { builder } from './platform.ts';
import { projectOf, ProjectRef } from './project.ts';
import { address, buyerId } from './text.ts';

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
    tokenAddress: t.exposeString('tokenAddress', { description: "The address of the project's token." }),
    tonnes: t.expose('balanceTonnes', {
      type: 'Tonnes',
      description:
        'Whole tonnes CO2e that can be retired now; what is held for running retirements is not in it.',
    }),
  }),
});

const StatementEntryKind = builder.enumType('StatementEntryKind', {
  description: "Why a buyer's balance changed.",
  values: {
    PURCHASE: { value: 'purchase', description: 'Credits were bought.' },
    RETIREMENT_HOLD: { value: 'retirement_hold', description: 'Credits were held for a retirement.' },
    RETIREMENT_RETURN: {
      value: 'retirement_return',
      description: 'The network refused the burn, and the credits came back.',
    },
  } as const,
});

const StatementEntryRef = builder.objectRef<StatementEntry>('StatementEntry').implement({
  description:
    "One change of a buyer's balance in the platform's double-entry books; never changed afterwards.",
  fields: (t) => ({
    version: t.string({
      description: "Its place in the balance's history, from 1 without a hole, as a decimal string.",
      resolve: ({ version }) => version.toString(),
    }),
    kind: t.field({ type: StatementEntryKind, description: 'Why the balance changed.', resolve: kindOf }),
    referenceId: t.id({
      description: 'The purchase or retirement behind it: look it up with `node(id:)`.',
      resolve: ({ kind, referenceId }) =>
        encodeGlobalId(kind === 'purchase' ? 'Purchase' : 'Retirement', referenceId),
    }),
    change: t.string({
      description: 'Whole tonnes CO2e as a decimal string, with a minus sign when they left the balance.',
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

function kindOf({ kind }: StatementEntry) {
  if (kind === 'purchase' || kind === 'retirement_hold' || kind === 'retirement_return') return kind;
  throw new Error(`a buyer's account has an entry of kind ${kind}`);
}

const BuyerAccountRef = builder.objectRef<{ buyerId: string }>('BuyerAccount').implement({
  description: "A buyer's account in the platform's books.",
  fields: (t) => ({
    buyerId: t.exposeString('buyerId', { description: 'The buyer.' }),
    balances: t.connection(
      {
        type: BuyerBalanceRef,
        description: 'What the buyer owns, per project that credits were ever bought of, a page at a time.',
        resolve: (account, args, { dependencies }) =>
          pageOf(
            args,
            balanceCursors,
            (page) => listBalances(dependencies, account.buyerId, page),
            ({ tokenAddress }) => tokenAddress,
          ),
      },
      ...listNames('BuyerBalance'),
    ),
    statement: t.connection(
      {
        type: StatementEntryRef,
        description:
          "The entries of one project's credits, oldest first, a page at a time. NOT_FOUND for an unknown token.",
        args: {
          tokenAddress: t.arg.string({
            required: true,
            validate: { schema: address },
            description: "The address of the project's token.",
          }),
        },
        resolve: (account, args, { dependencies }) =>
          pageOf(
            args,
            statementCursors,
            (page) => listStatement(dependencies, account.buyerId, args.tokenAddress, page),
            ({ version }) => version,
          ),
      },
      ...listNames('StatementEntry'),
    ),
  }),
});

builder.queryField('buyerAccount', (t) =>
  t.field({
    ...forBuyerOrOperator(
      (args: { buyerId: string }) => args.buyerId,
      "A buyer's balances and statement. A buyer who never bought has an empty one.",
    ),
    type: BuyerAccountRef,
    args: {
      buyerId: t.arg.string({
        required: true,
        validate: { schema: buyerId },
        description: "The buyer: the subject of the buyer's token.",
      }),
    },
    resolve: (_root, account) => account,
  }),
);
