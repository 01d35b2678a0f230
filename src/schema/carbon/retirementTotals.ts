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
import { listCursors, listNames, pageOf } from '../core/paging.ts';
import { projectOf, ProjectRef } from './project.ts';
import { recordFilterOf, RetirementRecordFilterInput } from './recordFilter.ts';
import { decimalTonnes } from './retirementRecord.ts';

const RetirementGroupEnum = builder.enumType('RetirementGroup', {
  description: 'What totals of retirements are grouped by.',
  values: {
    DAY: { description: 'By the day (UTC) on which they were burned, newest first.' },
    PROJECT: { description: 'By project, largest first.' },
    COUNTRY: { description: "By their projects' country, largest first." },
    VINTAGE: { description: "By their projects' vintage year, largest first." },
  } satisfies Record<RetirementGroup, object>,
});

const RetirementTotalRef = builder.objectRef<RetirementTotal>('RetirementTotal').implement({
  description:
    'What was retired in one group. One of `day`, `project`, `countryCode` and `vintageYear` names it.',
  fields: (t) => ({
    day: t.field({
      type: 'Date',
      nullable: true,
      description: 'By DAY: the day in UTC.',
      resolve: (total) => (total.groupBy === 'DAY' ? calendarDay(total) : null),
    }),
    project: t.field({
      type: ProjectRef,
      nullable: true,
      description: 'By PROJECT: the project.',
      resolve: ({ groupBy, key }, _args, context) => (groupBy === 'PROJECT' ? projectOf(context, key) : null),
    }),
    countryCode: t.field({
      type: 'CountryCode',
      nullable: true,
      description: 'By COUNTRY: ISO 3166-1 alpha-2.',
      resolve: ({ groupBy, key }) => (groupBy === 'COUNTRY' ? key : null),
    }),
    vintageYear: t.int({
      nullable: true,
      description: 'By VINTAGE: the year.',
      resolve: ({ groupBy, key }) => (groupBy === 'VINTAGE' ? Number(key) : null),
    }),
    tonnes: t.field({
      type: 'Decimal',
      description: 'The retired amount, in tonnes CO2e.',
      resolve: ({ amount }) => decimalTonnes(amount),
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
        'What was retired of all tokens, added up by day, project, country or vintage year. `from` and `until` of the filter ' +
          'must be the beginning of a day in UTC, unless beneficiaries are given. Errors: RESULT_TOO_LARGE for beneficiaries with too many retirements.',
      ),
      type: RetirementTotalRef,
      nullable: true,
      args: {
        groupBy: t.arg({
          type: RetirementGroupEnum,
          required: true,
          description: 'What the totals are grouped by.',
        }),
        filter: t.arg({
          type: RetirementRecordFilterInput,
          description: 'Which retirements; all when omitted.',
        }),
      },
      resolve: (_root, args, { dependencies }) => {
        const filter = recordFilterOf(args.filter);
        return pageOf(args, CURSORS[args.groupBy], readRetirementTotals(dependencies, args.groupBy, filter));
      },
    },
    ...listNames('RetirementTotal'),
  ),
);
