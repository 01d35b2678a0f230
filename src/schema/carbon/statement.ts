/**
 * A buyer's statement: every change of its balances.
 */
import {
  listStatement,
  type StatementCursor,
  type StatementEntry,
} from '../../resolvers/carbon/readBuyerAccount.ts';
import { builder } from '../core/builder.ts';
import { FILTER_RULE, filterOf, PROJECT_TOKENS, within } from '../core/filters.ts';
import { listCursors, cursorValues, listNames, pageOf } from '../core/paging.ts';
import { BuyerAccountRef } from './buyerAccount.ts';
import { ofProject } from './project.ts';
import { moment } from '../core/time.ts';

/** The cursors of a list of one buyer's transfers. */
export const transferCursors = (list: string) =>
  listCursors<StatementCursor>(list, {
    postedAt: cursorValues.moment,
    accountId: cursorValues.bigint,
    version: cursorValues.bigint,
  });
const cursors = transferCursors('statement');

const StatementEntryKind = builder.enumType('StatementEntryKind', {
  description: "The reason why a buyer's balance changed.",
  values: {
    PURCHASE: { value: 'purchase', description: 'The buyer purchased credits.' },
    RETIREMENT_HOLD: { value: 'retirement_hold', description: 'Credits were held for a retirement.' },
    RETIREMENT_RETURN: {
      value: 'retirement_return',
      description:
        'The network refused the burn, or an operator ended the retirement, and the credits were returned.',
    },
    CREDIT_TRANSFER: {
      value: 'credit_transfer',
      description:
        'Credits came from another buyer or went to another buyer; the sign of `change` shows which.',
    },
  } as const,
});

export const StatementEntryRef = builder.objectRef<StatementEntry>('StatementEntry').implement({
  description: "One change of a buyer's balance in the platform's double-entry books. Entries never change.",
  fields: (t) => ({
    project: t.field(ofProject('The project whose credits moved.')),
    version: t.string({
      description:
        "The number of the entry in the history of the buyer's balance of this project's credits, from 1 without " +
        'gaps, as a decimal string.',
      resolve: ({ version }) => version.toString(),
    }),
    kind: t.field({
      type: StatementEntryKind,
      description: 'The reason why the balance changed.',
      resolve: kindOf,
    }),
    change: t.field({
      type: 'Decimal',
      description: 'The change in whole tonnes CO2e; negative when credits left the balance.',
      resolve: ({ amountTonnes }) => amountTonnes.toString(),
    }),
    balanceBefore: t.expose('balanceBeforeTonnes', {
      type: 'Tonnes',
      description: "The balance of this project's credits before the change, in whole tonnes CO2e.",
    }),
    balanceAfter: t.expose('balanceAfterTonnes', {
      type: 'Tonnes',
      description: "The balance of this project's credits after the change, in whole tonnes CO2e.",
    }),
    postedAt: t.expose('postedAt', moment('The time the change was booked')),
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
    kinds: t.field({ type: [StatementEntryKind], description: 'Only entries of one of these kinds.' }),
    ...within(t, 'entries booked'),
  }),
});

builder.objectField(BuyerAccountRef, 'statement', (t) =>
  t.connection(
    {
      type: StatementEntryRef,
      description:
        "A paginated list of all changes of the buyer's balances, for all projects together, oldest first. Not a " +
        'feed: an entry may be added with a time slightly before that of the newest entry, and so before a cursor ' +
        'that was already returned. To miss none, read again from a few minutes earlier. `version`, which has no ' +
        'gaps within a project, shows whether an entry is missing.',
      args: filterOf(StatementFilterInput, 'Filters the entries. All are listed when omitted.'),
      resolve: ({ buyerId }, args, { dependencies }) =>
        pageOf(args, cursors, listStatement(dependencies, buyerId, args.filter ?? {})),
    },
    ...listNames('StatementEntry'),
  ),
);
