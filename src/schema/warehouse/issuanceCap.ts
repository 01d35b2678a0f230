/**
 * IssuanceCap: the maximum of kilograms of a commodity outstanding in a warehouse's receipts; and the list of
 * caps.
 */
import {
  findIssuanceCap,
  listIssuanceCaps,
  type IssuanceCap,
} from '../../resolvers/warehouse/issuanceCaps.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { isOperator, maySeeWarehouse } from '../core/caller.ts';
import { anyOf, FILTER_RULE, filterOf } from '../core/filters.ts';
import { subject } from '../core/text.ts';
import { ownedBy } from '../core/ownedBy.ts';
import { visible } from '../core/visible.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { moment } from '../core/time.ts';

export const IssuanceCapRef = builder.objectRef<IssuanceCap>('IssuanceCap');

builder.node(IssuanceCapRef, {
  ...ownedBy<IssuanceCap>(({ warehouseId }) => [warehouseId]),
  description:
    'The maximum number of kilograms of a commodity for which receipts of a warehouse may be outstanding. A ' +
    'warehouse with caps can issue receipts only for the commodities of its caps; a warehouse without caps is ' +
    'not limited. Visible to the warehouse and to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: visible(findIssuanceCap, (caller, { warehouseId }) => maySeeWarehouse(caller, warehouseId)),
  fields: (t) => ({
    warehouseId: t.exposeString('warehouseId', { description: 'The warehouse.' }),
    commodityType: t.exposeString('commodityType', {
      description:
        'The commodity. Letter case, white space, full-width forms and kinds of hyphens make no difference.',
    }),
    limitKg: t.expose('limitKg', { type: 'Kilograms', description: 'The cap, in whole kilograms.' }),
    outstandingKg: t.expose('outstandingKg', {
      type: 'Kilograms',
      description:
        'The kilograms that count against the cap, in whole kilograms: those of receipts that are neither refused ' +
        'nor expired, less those of settled cash-outs. Exceeds the cap when the cap was lowered since.',
    }),
    setBy: t.exposeString('setBy', { description: 'The subject of the operator who last set the cap.' }),
    setAt: t.expose('setAt', moment('The time the cap was last set')),
  }),
});

const IssuanceCapFilterInput = builder.inputType('IssuanceCapFilter', {
  description: `A cap ${FILTER_RULE}`,
  fields: (t) => ({
    warehouseIds: t.stringList(anyOf('caps of one of these warehouses', subject)),
  }),
});

const cursors = keysetCursors('issuanceCaps');

builder.queryField('issuanceCaps', (t) =>
  t.connection(
    {
      ...forRoles(
        ['warehouse', 'operator'],
        'A paginated list of issuance caps, the latest set first. Warehouses see their own caps, operators all.',
      ),
      type: IssuanceCapRef,
      args: filterOf(
        IssuanceCapFilterInput,
        'Filters the caps. All that the caller may see are listed when omitted.',
      ),
      resolve: (_root, args, { caller, dependencies }) => {
        const visibleTo = isOperator(caller) ? null : (caller?.warehouseIds ?? []);
        const filter = { ...args.filter, visibleTo };
        return pageOf(args, cursors, listIssuanceCaps(dependencies, filter));
      },
    },
    ...listNames('IssuanceCap'),
  ),
);
