/**
 * CreditTransfer: credits that one buyer gave to another.
 */
import { findCreditTransfer, type CreditTransfer } from '../../resolvers/carbon/transferCredits.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { visible } from '../core/visible.ts';
import { builder } from '../core/builder.ts';
import { maySeeBuyer } from '../core/caller.ts';
import { ofProject } from './project.ts';
import { moment } from '../core/time.ts';

export const CreditTransferRef = builder.objectRef<CreditTransfer>('CreditTransfer');

builder.node(CreditTransferRef, {
  ...ownedBy<CreditTransfer>(({ fromBuyerId, toBuyerId }) => [fromBuyerId, toBuyerId]),
  description:
    "Credits that one buyer transferred to another, only in the platform's books. Visible to both buyers and to operators.",
  id: { resolve: ({ id }) => id },
  loadOne: visible(
    findCreditTransfer,
    (caller, { fromBuyerId, toBuyerId }) =>
      maySeeBuyer(caller, fromBuyerId) || maySeeBuyer(caller, toBuyerId),
  ),
  fields: (t) => ({
    fromBuyerId: t.exposeString('fromBuyerId', {
      description: 'The buyer who owned the credits before the transfer.',
    }),
    toBuyerId: t.exposeString('toBuyerId', {
      description: 'The buyer who owns the credits after the transfer.',
    }),
    project: t.field(ofProject('The project of the credits.')),
    tonnes: t.expose('amountTonnes', {
      type: 'Tonnes',
      description: 'The transferred amount, in whole tonnes CO2e.',
    }),
    memo: t.exposeString('memo', {
      nullable: true,
      description:
        "The purpose of the transfer, in the sender's words, which both buyers see. Null when none was given.",
    }),
    createdAt: t.expose('createdAt', moment('The time the transfer was booked')),
  }),
});
