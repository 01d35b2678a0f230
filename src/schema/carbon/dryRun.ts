/**
 * DryRun: the effect that a mutation of credits would have. Declared once for purchase, transferCredits and
 * retire.
 */
import type { DryRun } from '../../resolvers/carbon/dryRun.ts';
import { totalOf } from '../../resolvers/carbon/projectPrices.ts';
import { builder } from '../core/builder.ts';
import { MoneyRef } from '../core/money.ts';
import { projectOf, ProjectRef } from './project.ts';

export const DryRunRef = builder.objectRef<DryRun>('CreditsDryRun').implement({
  description: "What a mutation would do to a buyer's credits. Nothing was changed.",
  fields: (t) => ({
    buyerId: t.exposeString('buyerId', { description: 'The buyer whose balance would change.' }),
    project: t.field({
      type: ProjectRef,
      description: 'The project whose credits would move.',
      resolve: ({ projectId }, _args, context) => projectOf(context, projectId),
    }),
    tonnes: t.expose('tonnes', { type: 'Tonnes', description: 'Whole tonnes CO2e that would move.' }),
    balanceAfter: t.expose('balanceAfterTonnes', {
      type: 'Tonnes',
      description: "The buyer's balance of these credits afterwards, in whole tonnes CO2e.",
    }),
    pricePerTonne: t.field({
      type: MoneyRef,
      nullable: true,
      description: 'Of a purchase, the price of a tonne; null where none is set, and for other mutations.',
      resolve: ({ pricePerTonne }) => pricePerTonne ?? null,
    }),
    total: t.field({
      type: MoneyRef,
      nullable: true,
      description: 'Of a purchase, `pricePerTonne` times `tonnes`, exact; null without a price.',
      resolve: ({ pricePerTonne, tonnes }) => totalOf(pricePerTonne ?? null, tonnes),
    }),
  }),
});
