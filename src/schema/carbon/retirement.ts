/**
 * Retirement: a buyer's request to put credits out of circulation, with its states and times. retirements
 * lists a buyer's own, or all of them for operators.
 */
import type { Caller } from '../../identity/roles.ts';
import {
  findRetirement,
  FOLLOWED_RETIREMENTS,
  type Retirement,
  listRetirements,
} from '../../resolvers/carbon/findRetirement.ts';
import { atLeast, atMost, tonnes } from '../core/amounts.ts';
import { forRoles } from '../core/access.ts';
import { maySeeBuyer, isOperator, subjectOf } from '../core/caller.ts';
import { hashOf, transactionsOf } from '../operations/networkTransaction.ts';
import { subscribeTo, UPDATES_UNTIL_FINAL } from '../core/updates.ts';
import { idOf } from '../core/inputs.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { visible } from '../core/visible.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { ofProject } from './project.ts';
import { moment, momentOrNull } from '../core/time.ts';
import { anyOf, filterInput, filterOf, PROJECT_TOKENS, within } from '../core/filters.ts';
import { subject } from '../core/text.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';

const RetirementStateEnum = enumOf('RetirementState', 'The state of a retirement.', {
  PENDING: 'The credits are held, and the burn is in progress in the background.',
  RETIRED: 'The credits are permanently burned.',
  REFUSED:
    'The network refused the burn, or an operator ended the retirement. Nothing was burned, and the credits ' +
    'were returned to the buyer.',
  NEEDS_REVIEW: 'No rule can decide whether the burn landed. The credits are held until an operator decides.',
});

export const RetirementRef = builder.objectRef<Retirement>('Retirement');

function maySee(caller: Caller | null, { buyerId }: Retirement): boolean {
  return maySeeBuyer(caller, buyerId);
}

const findVisibleRetirement = visible(findRetirement, maySee);

builder.node(RetirementRef, {
  ...ownedBy<Retirement>(({ buyerId }) => [buyerId]),
  description:
    "A buyer's retirement on this platform. Visible to the buyer and to operators; the record on the network " +
    'is public in the registry.',
  id: { resolve: ({ id }) => id },
  loadOne: findVisibleRetirement,
  fields: (t) => ({
    state: t.expose('state', { type: RetirementStateEnum, description: 'The state of the retirement.' }),
    buyerId: t.exposeString('buyerId', { description: 'The buyer whose credits are retired.' }),
    project: t.field(ofProject('The project whose credits are retired.')),
    tonnes: t.expose('amountTonnes', tonnes('The retired amount')),
    beneficiary: t.exposeString('beneficiary', {
      description: 'The beneficiary: a text label, not an address.',
    }),
    note: t.exposeString('note', { description: 'The remark on the public record. May be empty.' }),
    txHash: t.string({
      nullable: true,
      description:
        'The hash of the burn that landed, or else of the latest signed burn. Set before `record` is. ' +
        '`transactions` has every attempt with its state. Null while no burn is signed.',
      resolve: ({ id, txHash }, _args, context) => txHash ?? hashOf(context, id, 'retire'),
    }),
    recordIndex: t.exposeInt('recordIndex', {
      nullable: true,
      description:
        "The index of the retirement's record in the token's retirement list, set shortly before `record` is. Null " +
        'until the retirement is RETIRED.',
    }),
    ledger: t.expose('ledger', {
      type: 'LedgerNumber',
      nullable: true,
      description: 'The number of the ledger in which the burn landed. Null until then.',
    }),
    stateReason: t.exposeString('stateReason', {
      nullable: true,
      description:
        'The reason why the retirement was refused or needs review, as text. Null in other states.',
    }),
    createdAt: t.expose('createdAt', moment('The time the credits were held')),
    settledAt: t.expose('settledAt', momentOrNull('The time the retirement became RETIRED or REFUSED')),
    transactions: t.field(
      transactionsOf(
        'All transactions that were signed for the retirement, oldest first. At most one of them landed.',
      ),
    ),
  }),
});

builder.queryField('retirement', (t) =>
  t.field({
    ...forRoles(
      ['buyer', 'operator'],
      'The retirement with this id, in its current state. Null when no such retirement exists, and for another ' +
        "buyer's retirement.",
    ),
    type: RetirementRef,
    args: idOf(RetirementRef, 'retirement'),
    resolve: (_root, { id }, context) => findVisibleRetirement(id.id, context),
  }),
);

subscribeTo(
  'retirementUpdated',
  RetirementRef,
  forRoles(
    ['buyer', 'operator'],
    `Follows a retirement. ${UPDATES_UNTIL_FINAL}RETIRED or REFUSED. Errors: NOT_FOUND (no such retirement, or ` +
      "another buyer's).",
  ),
  { kind: FOLLOWED_RETIREMENTS, maySee, noun: 'retirement' },
);

const RetirementFilterInput = filterInput('RetirementFilter', 'A retirement', (t) => ({
  buyerIds: t.stringList(
    anyOf(
      'retirements of one of these buyers',
      subject,
      "Defaults to the caller for a buyer's token, which may name only itself, and to all buyers for an operator.",
    ),
  ),
  tokenAddresses: t.field({ ...PROJECT_TOKENS, type: ['Address'] }),
  states: t.field({ type: [RetirementStateEnum], description: 'Only retirements in one of these states.' }),
  ...within(t, 'retirements requested'),
  minTonnes: t.field(atLeast('Tonnes', 'retirements of', 'tonnes CO2e')),
  maxTonnes: t.field(atMost('Tonnes', 'retirements of', 'tonnes CO2e')),
}));

const cursors = keysetCursors('retirements');

builder.queryField('retirements', (t) =>
  t.connection(
    {
      description:
        'A paginated list of retirements, newest first.\n\nNeeds a token with role operator (or admin), which sees ' +
        'all; or with role buyer, which sees those of its subject.',
      authScopes: (_root, { filter }, { caller }) => {
        const another = filter?.buyerIds?.find((id) => id !== caller?.subject);
        return { $any: { role: ['operator'], buyer: another ?? caller?.subject ?? '' } };
      },
      type: RetirementRef,
      nullable: true,
      args: filterOf(RetirementFilterInput, 'Filters the retirements.'),
      resolve: (_root, args, { caller, dependencies }) => {
        // A list without any buyer is not the caller's, so it stays empty.
        const own =
          isOperator(caller) || args.filter?.buyerIds != null ? {} : { buyerIds: [subjectOf(caller)] };
        const filter = { ...args.filter, ...own };
        return pageOf(args, cursors, listRetirements(dependencies, filter));
      },
    },
    ...listNames('Retirement'),
  ),
);
