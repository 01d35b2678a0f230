/**
 * The filters of public retirement records, for their list, their totals and their feed.
 */
import { builder } from '../core/builder.ts';
import { anyOf, FILTER_RULE, filterInput, PROJECT_TOKENS, within } from '../core/filters.ts';
import { beneficiaryList } from '../core/text.ts';

const BENEFICIARIES = {
  validate: { schema: beneficiaryList },
  description:
    'Only retirements for one of these beneficiaries, at most 20. Matches the exact spelling, and the spelling ' +
    'that `retire` stores (in NFC, without leading and trailing white space).',
} as const;
const COUNTRY_CODES = anyOf('retirements of projects in one of these countries');
const VINTAGE_YEARS = anyOf<number>('retirements of projects of one of these vintage years');

export const RetirementFeedFilterInput = builder.inputType('RetirementFeedFilter', {
  description: `A retirement ${FILTER_RULE} The cursors of the feed do not depend on the filter.`,
  fields: (t) => ({
    beneficiaries: t.stringList(BENEFICIARIES),
    countryCodes: t.field({ type: ['CountryCode'], ...COUNTRY_CODES }),
    vintageYears: t.intList(VINTAGE_YEARS),
  }),
});

export const RetirementRecordFilterInput = filterInput(
  'RetirementRecordFilter',
  'A retirement record',
  (t) => ({
    beneficiaries: t.stringList(BENEFICIARIES),
    tokenAddresses: t.field({ ...PROJECT_TOKENS, type: ['Address'] }),
    countryCodes: t.field({ type: ['CountryCode'], ...COUNTRY_CODES }),
    vintageYears: t.intList(VINTAGE_YEARS),
    ...within(t, "retirements whose burn, by the network's clock, was"),
  }),
);
