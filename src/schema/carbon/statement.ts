/**
 * A buyer's statement: every change of its balances, with its cause.
 */
import { listStatement, type StatementEntry } from '../../resolvers/carbon/readBuyerAccount.ts';
import { tonnes } from '../core/amounts.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { filterInput, filterOf, PROJECT_TOKENS, within } from '../core/filters.ts';
import { listNames, pageOf } from '../core/paging.ts';
import { BuyerAccountRef, transferCursors } from './buyerAccount.ts';
import { ofProject } from './project.ts';
import { moment } from '../core/time.ts';
import { findPurchases } from '../../resolvers/carbon/purchase.ts';
import { findCreditTransfers } from '../../resolvers/carbon/transferCredits.ts';
import { findRetirementsByIds } from '../../resolvers/carbon/findRetirement.ts';
import { priceOf, totalOf } from '../../resolvers/carbon/projectPrices.ts';
import { createRequiredBatch } from '../core/batch.ts';
import { MoneyRef } from '../core/money.ts';
import { CreditTransferRef } from './creditTransfer.ts';
import { PurchaseRef } from './purchase.ts';
import { RetirementRef } from './retirement.ts';

const cursors = transferCursors('statement');

const StatementEntryKind = enumOf('StatementEntryKind', "The reason why a buyer's balance changed.", {
  purchase: 'The buyer purchased credits.',
  retirement_hold: 'Credits were held for a retirement.',
  retirement_return:
    'The network refused the burn, or an operator ended the retirement, and the credits were returned.',
  credit_transfer:
    'Credits came from another buyer or went to another buyer; the sign of `change` shows which.',
});

const purchaseOf = createRequiredBatch('purchase', findPurchases);
const retirementOf = createRequiredBatch('retirement', findRetirementsByIds);
const creditTransferOf = createRequiredBatch('credit transfer', findCreditTransfers);

const StatementCause = builder.unionType('StatementCause', {
  description: "The cause of a change of a buyer's balance.",
  types: [PurchaseRef, RetirementRef, CreditTransferRef],
  resolveType: (cause) => {
    if ('fromBuyerId' in cause) return CreditTransferRef;
    return 'beneficiary' in cause ? RetirementRef : PurchaseRef;
  },
});

const StatementEntryRef = builder.objectRef<StatementEntry>('StatementEntry').implement({
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
    balanceBefore: t.expose(
      'balanceBeforeTonnes',
      tonnes("The balance of this project's credits before the change"),
    ),
    balanceAfter: t.expose(
      'balanceAfterTonnes',
      tonnes("The balance of this project's credits after the change"),
    ),
    postedAt: t.expose('postedAt', moment('The time the change was booked')),
    cause: t.field({
      type: StatementCause,
      description: 'The cause of the entry. Both entries of a refused retirement have the same cause.',
      resolve: ({ kind, causeId }, _args, context) => {
        if (kind === 'purchase') return purchaseOf(context, causeId);
        return (kind === 'credit_transfer' ? creditTransferOf : retirementOf)(context, causeId);
      },
    }),
    counterpartyId: t.string({
      nullable: true,
      description: 'The other buyer of a transfer. Null for other kinds.',
      resolve: async ({ kind, causeId, amountTonnes }, _args, context) => {
        if (kind !== 'credit_transfer') return null;
        const transfer = await creditTransferOf(context, causeId);
        return amountTonnes < 0n ? transfer.toBuyerId : transfer.fromBuyerId;
      },
    }),
    pricePerTonne: t.field({
      type: MoneyRef,
      nullable: true,
      description:
        'The price of a tonne at the time of a purchase. Null when no price was set, and for other kinds.',
      resolve: (entry) => priceOf(entry),
    }),
    total: t.field({
      type: MoneyRef,
      nullable: true,
      description: 'The total price of a purchase. Null when no price was set, and for other kinds.',
      resolve: (entry) => totalOf(priceOf(entry), entry.amountTonnes),
    }),
  }),
});

/** @throws Error for a kind that only accounts other than buyers' have */
function kindOf({ kind }: StatementEntry) {
  if (kind === 'issue' || kind === 'retirement_settle') {
    throw new Error(`a buyer's account has an entry of kind ${kind}`);
  }
  return kind;
}

const StatementFilterInput = filterInput('StatementEntryFilter', 'An entry', (t) => ({
  tokenAddresses: t.field({ ...PROJECT_TOKENS, type: ['Address'] }),
  kinds: t.field({ type: [StatementEntryKind], description: 'Only entries of one of these kinds.' }),
  ...within(t, 'entries booked'),
}));

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
