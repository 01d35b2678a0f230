/**
 * The filters of public retirement records: of their list, their totals and their feed.
 */
import type { RecordFilter } from '../../resolvers/carbon/recordFilter.ts';
import { builder } from '../core/builder.ts';
import { beneficiaryList, filterList } from '../core/text.ts';
import { ProjectRef } from './project.ts';

const BENEFICIARIES = {
  validate: { schema: beneficiaryList },
  description: 'Of one of these beneficiaries, at most 20; the spelling must match exactly.',
} as const;
const COUNTRY_CODES = {
  validate: { schema: filterList<string>() },
  description: 'Of a project in one of these countries, at most 100.',
} as const;
const VINTAGE_YEARS = {
  validate: { schema: filterList<number>() },
  description: 'Of a project of one of these vintage years, at most 100.',
} as const;

export const RetirementFeedFilterInput = builder.inputType('RetirementFeedFilter', {
  description: 'Retirements must match all of these. The cursors of the feed are the same with every filter.',
  fields: (t) => ({
    beneficiaries: t.stringList(BENEFICIARIES),
    countryCodes: t.field({ type: ['CountryCode'], ...COUNTRY_CODES }),
    vintageYears: t.intList(VINTAGE_YEARS),
  }),
});

export const RetirementRecordFilterInput = builder.inputType('RetirementRecordFilter', {
  description: 'Retirement records must match all of these.',
  fields: (t) => ({
    beneficiaries: t.stringList(BENEFICIARIES),
    projectIds: t.globalIDList({
      for: ProjectRef,
      validate: { schema: filterList() },
      description: 'Of one of these projects, at most 100.',
    }),
    tokenAddresses: t.field({
      type: ['Address'],
      validate: { schema: filterList<string>() },
      description: 'Of the project with one of these tokens, at most 100.',
    }),
    countryCodes: t.field({ type: ['CountryCode'], ...COUNTRY_CODES }),
    vintageYears: t.intList(VINTAGE_YEARS),
    from: t.field({
      type: 'UnixTime',
      description: "Burned at this time by the network's clock or later, in Unix seconds.",
    }),
    until: t.field({ type: 'UnixTime', description: 'Burned before this time, in Unix seconds.' }),
  }),
});

type Given = typeof RetirementRecordFilterInput.$inferInput;

export function recordFilterOf(given: Given | null | undefined): RecordFilter {
  return { ...given, projectIds: given?.projectIds?.map(({ id }) => id) };
}
