/**
 * retirementTotals: the retired amounts, by day, project, country or vintage.
 */
import * as z from 'zod';
import {
  calendarDay,
  readRetirementTotals,
  RETIREMENT_GROUPS,
  type RetirementGroup,
  type RetirementTotal,
  type TotalsCursor,
} from '../../resolvers/carbon/readRetirementTotals.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { filterOf } from '../core/filters.ts';
import { listCursors, listNames, pageOf } from '../core/paging.ts';
import { projectOf, ProjectRef } from './project.ts';
import { RetirementRecordFilterInput } from './recordFilter.ts';
import { decimalTonnes } from './retirementRecord.ts';

const RetirementGroupEnum = enumOf<RetirementGroup>('RetirementGroup', 'The grouping of retirement totals.', {
  DAY: 'By the day (UTC) of the burn, newest first.',
  PROJECT: 'By project, largest first.',
  COUNTRY: 'By the country of the project, largest first.',
  VINTAGE: 'By the vintage year of the project, largest first.',
});

const RetirementTotalRef = builder.objectRef<RetirementTotal>('RetirementTotal').implement({
  description:
    'The retired amount of one group. One of `day`, `project`, `countryCode` and `vintageYear` names the group.',
  fields: (t) => ({
    day: t.field({
      type: 'Date',
      nullable: true,
      description: 'The day of the group in UTC. Null unless grouped by DAY.',
      resolve: (total) => (total.groupBy === 'DAY' ? calendarDay(total) : null),
    }),
    project: t.field({
      type: ProjectRef,
      nullable: true,
      description: 'The project of the group. Null unless grouped by PROJECT.',
      resolve: ({ groupBy, key }, _args, context) => (groupBy === 'PROJECT' ? projectOf(context, key) : null),
    }),
    countryCode: t.field({
      type: 'CountryCode',
      nullable: true,
      description: 'The country of the group: ISO 3166-1 alpha-2. Null unless grouped by COUNTRY.',
      resolve: ({ groupBy, key }) => (groupBy === 'COUNTRY' ? key : null),
    }),
    vintageYear: t.int({
      nullable: true,
      description: 'The vintage year of the group. Null unless grouped by VINTAGE.',
      resolve: ({ groupBy, key }) => (groupBy === 'VINTAGE' ? Number(key) : null),
    }),
    tonnes: t.field({
      type: 'Decimal',
      description: 'The retired amount, in tonnes CO2e.',
      resolve: ({ amountBaseUnits }) => decimalTonnes(amountBaseUnits),
    }),
    retirementCount: t.exposeInt('retirements', { description: 'The number of retirements.' }),
  }),
});

const cursorsOf = (groupBy: RetirementGroup) =>
  listCursors<TotalsCursor>(`retirementTotals:${groupBy}`, {
    value: z.string().regex(/^-?\d{1,78}$/),
    key: z.string().regex(/^[\w-]{1,36}$/),
  });
const CURSORS = Object.fromEntries(
  RETIREMENT_GROUPS.map((groupBy) => [groupBy, cursorsOf(groupBy)]),
) as Record<RetirementGroup, ReturnType<typeof cursorsOf>>;

builder.queryField('retirementTotals', (t) =>
  t.connection(
    {
      ...forPublic(
        'A paginated list of the retired amounts of all tokens, summed by day, project, country or vintage year. ' +
          '`from` and `until` of the filter must be the start of a day in UTC, unless beneficiaries are given. ' +
          'Errors: RESULT_TOO_LARGE (the beneficiaries have too many retirements).',
      ),
      type: RetirementTotalRef,
      args: {
        groupBy: t.arg({
          type: RetirementGroupEnum,
          required: true,
          description: 'The grouping of the totals.',
        }),
        ...filterOf(RetirementRecordFilterInput, 'Filters the retirements. All are included when omitted.'),
      },
      resolve: (_root, args, { dependencies }) => {
        const filter = args.filter ?? {};
        return pageOf(args, CURSORS[args.groupBy], readRetirementTotals(dependencies, args.groupBy, filter));
      },
    },
    ...listNames('RetirementTotal'),
  ),
);
