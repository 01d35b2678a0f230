/**
 * DryRun: the effect that a mutation of credits would have. Declared once for purchase, transferCredits and
 * retire.
 */
import type { DryRun } from '../../resolvers/carbon/dryRun.ts';
import { totalOf } from '../../resolvers/carbon/projectPrices.ts';
import { tonnes } from '../core/amounts.ts';
import { builder } from '../core/builder.ts';
import { MoneyRef } from '../core/money.ts';
import { ofProject } from './project.ts';

export const DryRunRef = builder.objectRef<DryRun>('CreditsDryRun').implement({
  description: "The effect that a mutation would have on a buyer's credits. Nothing was changed.",
  fields: (t) => ({
    buyerId: t.exposeString('buyerId', { description: 'The buyer whose balance would change.' }),
    project: t.field(ofProject('The project whose credits would move.')),
    tonnes: t.expose('tonnes', tonnes('The amount that would move')),
    balanceAfter: t.expose(
      'balanceAfterTonnes',
      tonnes("The buyer's balance of these credits after the mutation"),
    ),
    pricePerTonne: t.field({
      type: MoneyRef,
      nullable: true,
      description:
        'The price of a tonne, for a purchase. Null when no price is set, and for other mutations.',
      resolve: ({ pricePerTonne }) => pricePerTonne ?? null,
    }),
    total: t.field({
      type: MoneyRef,
      nullable: true,
      description: 'The exact total of a purchase: `pricePerTonne` times `tonnes`. Null without a price.',
      resolve: ({ pricePerTonne, tonnes }) => totalOf(pricePerTonne ?? null, tonnes),
    }),
  }),
});
