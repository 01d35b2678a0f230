/**
 * The filters of public retirement records, for their list, their totals and their feed.
 */
import type { RecordFilter } from '../../resolvers/carbon/recordFilter.ts';
import { builder } from '../core/builder.ts';
import { FILTER_RULE, filterList, oneOf, PROJECT_TOKENS } from '../core/filters.ts';
import { beneficiaryList } from '../core/text.ts';
import { ProjectRef } from './project.ts';
import { fromTime, untilTime } from '../core/time.ts';

const BENEFICIARIES = {
  validate: { schema: beneficiaryList },
  description:
    'Of one of these beneficiaries, at most 20: in exactly this spelling, or as `retire` stores it (in NFC, without white space at its ends).',
} as const;
const COUNTRY_CODES = {
  validate: { schema: filterList<string>() },
  description: oneOf('Of a project in one of these countries'),
} as const;
const VINTAGE_YEARS = {
  validate: { schema: filterList<number>() },
  description: oneOf('Of a project of one of these vintage years'),
} as const;

export const RetirementFeedFilterInput = builder.inputType('RetirementFeedFilter', {
  description: `A retirement ${FILTER_RULE} The cursors of the feed are the same with every filter.`,
  fields: (t) => ({
    beneficiaries: t.stringList(BENEFICIARIES),
    countryCodes: t.field({ type: ['CountryCode'], ...COUNTRY_CODES }),
    vintageYears: t.intList(VINTAGE_YEARS),
  }),
});

export const RetirementRecordFilterInput = builder.inputType('RetirementRecordFilter', {
  description: `A retirement record ${FILTER_RULE}`,
  fields: (t) => ({
    beneficiaries: t.stringList(BENEFICIARIES),
    projectIds: t.globalIDList({
      for: ProjectRef,
      validate: { schema: filterList() },
      description: oneOf('Of one of these projects'),
    }),
    tokenAddresses: t.field({ ...PROJECT_TOKENS, type: ['Address'] }),
    countryCodes: t.field({ type: ['CountryCode'], ...COUNTRY_CODES }),
    vintageYears: t.intList(VINTAGE_YEARS),
    from: t.field(fromTime("Burned, by the network's clock,")),
    until: t.field(untilTime("Burned, by the network's clock,")),
  }),
});

type Given = typeof RetirementRecordFilterInput.$inferInput;

export function recordFilterOf(given: Given | null | undefined): RecordFilter {
  return { ...given, projectIds: given?.projectIds?.map(({ id }) => id) };
}
