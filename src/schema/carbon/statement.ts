/**
 * A buyer's statement: every change of its balances.
 */
import {
  listStatement,
  type StatementCursor,
  type StatementEntry,
} from '../../resolvers/carbon/readBuyerAccount.ts';
import { builder } from '../core/builder.ts';
import { FILTER_RULE, PROJECT_TOKENS } from '../core/filters.ts';
import { listCursors, cursorValues, listNames, pageOf } from '../core/paging.ts';
import { BuyerAccountRef } from './buyerAccount.ts';
import { projectOf, ProjectRef } from './project.ts';
import { fromTime, moment, untilTime } from '../core/time.ts';

/** The cursors of a list of one buyer's transfers. */
export const transferCursors = (list: string) =>
  listCursors<StatementCursor>(list, {
    postedAt: cursorValues.moment,
    accountId: cursorValues.bigint,
    version: cursorValues.bigint,
  });
const cursors = transferCursors('statement');

const StatementEntryKind = builder.enumType('StatementEntryKind', {
  description: "Why a buyer's balance changed.",
  values: {
    PURCHASE: { value: 'purchase', description: 'The buyer purchased credits.' },
    RETIREMENT_HOLD: { value: 'retirement_hold', description: 'Credits were held for a retirement.' },
    RETIREMENT_RETURN: {
      value: 'retirement_return',
      description: 'The network refused the burn, or an operator ended it, and the credits were returned.',
    },
    CREDIT_TRANSFER: {
      value: 'credit_transfer',
      description: 'Credits came from another buyer, or went to one: `change` says which.',
    },
  } as const,
});

export const StatementEntryRef = builder.objectRef<StatementEntry>('StatementEntry').implement({
  description: "One change of a buyer's balance in the platform's double-entry books; it is never changed.",
  fields: (t) => ({
    project: t.field({
      type: ProjectRef,
      description: 'The project whose credits moved.',
      resolve: ({ projectId }, _args, context) => projectOf(context, projectId),
    }),
    version: t.string({
      description:
        "Its number in the history of the buyer's balance of this project's credits, from 1 without gaps, as a decimal string.",
      resolve: ({ version }) => version.toString(),
    }),
    kind: t.field({ type: StatementEntryKind, description: 'Why the balance changed.', resolve: kindOf }),
    change: t.field({
      type: 'Decimal',
      description: 'Whole tonnes CO2e, negative when they left the balance.',
      resolve: ({ amountTonnes }) => amountTonnes.toString(),
    }),
    balanceBefore: t.expose('balanceBeforeTonnes', {
      type: 'Tonnes',
      description: "The balance of this project's credits before, in whole tonnes CO2e.",
    }),
    balanceAfter: t.expose('balanceAfterTonnes', {
      type: 'Tonnes',
      description: "The balance of this project's credits afterwards, in whole tonnes CO2e.",
    }),
    postedAt: t.expose('postedAt', moment('When it was booked')),
  }),
});

/** @throws Error for a kind that only accounts other than buyers' have */
function kindOf({ kind }: StatementEntry) {
  if (kind === 'issue' || kind === 'retirement_settle') {
    throw new Error(`a buyer's account has an entry of kind ${kind}`);
  }
  return kind;
}

const StatementFilterInput = builder.inputType('StatementEntryFilter', {
  description: `An entry ${FILTER_RULE}`,
  fields: (t) => ({
    tokenAddresses: t.field({ ...PROJECT_TOKENS, type: ['Address'] }),
    kinds: t.field({ type: [StatementEntryKind], description: 'Of one of these kinds.' }),
    from: t.field(fromTime('Booked')),
    until: t.field(untilTime('Booked')),
  }),
});

builder.objectField(BuyerAccountRef, 'statement', (t) =>
  t.connection(
    {
      type: StatementEntryRef,
      description:
        "Every change of the buyer's balances, of all projects together, oldest first, a page at a time. It is no feed: an entry may come " +
        'in with a time a little before that of the newest one, and so before a cursor that was given out. To miss none, read again from some ' +
        'minutes before; `version`, which has no gap within a project, shows whether one is missing.',
      args: {
        filter: t.arg({ type: StatementFilterInput, description: 'Which entries; all when omitted.' }),
      },
      resolve: ({ buyerId }, args, { dependencies }) =>
        pageOf(args, cursors, listStatement(dependencies, buyerId, args.filter ?? {})),
    },
    ...listNames('StatementEntry'),
  ),
);
