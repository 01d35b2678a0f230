/**
 * For whom and what credits were retired, and their serial numbers: on the platform's retirements, and publicly on the
 * token's records that belong to one.
 */
import {
  findRetirementsOfRecords,
  type RecordPlace,
  type Retirement,
} from '../../resolvers/carbon/findRetirement.ts';
import type { RetirementPurpose } from '../../resolvers/carbon/retirementPurpose.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import type { Context } from '../core/context.ts';
import { RetirementRef } from './retirement.ts';
import { RetirementRecordRef } from './retirementRecord.ts';
import { SerialRangeRef, serialNumbersOf } from './serialRange.ts';

export const RetirementReasonEnum = builder.enumType('RetirementReason', {
  description: 'What credits are retired for, as registries ask.',
  values: {
    VOLUNTARY_OFFSET: {
      description: "To compensate for the beneficiary's own emissions, without being obliged to.",
    },
    CONTRIBUTION: {
      description:
        'For the climate, without a claim to have compensated for emissions; also called environmental benefit.',
    },
    COMPLIANCE: {
      description:
        'To meet a duty under the law of the `jurisdiction`, such as a carbon tax or an emissions trading system.',
    },
    CORSIA: {
      description: "To meet an airline's duty under CORSIA, the ICAO's scheme for international aviation.",
    },
    ARTICLE_6: {
      description:
        "Towards another country's nationally determined contribution, or other international mitigation, under Article 6 of " +
        'the Paris Agreement.',
    },
  } as const,
});

interface Period {
  from: string;
  until: string;
}

const RetirementPeriodRef = builder.objectRef<Period>('RetirementPeriod').implement({
  description: 'The period whose emissions a retirement stands for.',
  fields: (t) => ({
    from: t.expose('from', { type: 'Date', description: 'The first day.' }),
    until: t.expose('until', { type: 'Date', description: 'The day after the last one.' }),
  }),
});

export const RetirementPeriodInput = builder.inputType('RetirementPeriodInput', {
  description: 'The period whose emissions a retirement stands for.',
  fields: (t) => ({
    from: t.field({ type: 'Date', required: true, description: 'The first day.' }),
    until: t.field({ type: 'Date', required: true, description: 'The day after the last one.' }),
  }),
});

const retirementOfRecord = createBatch(findRetirementsOfRecords);

function periodOf({ periodFrom, periodUntil }: RetirementPurpose): Period | null {
  return periodFrom === null || periodUntil === null ? null : { from: periodFrom, until: periodUntil };
}

const TEXTS = {
  beneficiaryId:
    "The beneficiary's id in a public register, such as an LEI or a company number; null when none was given.",
  jurisdiction: 'The country under whose rules the credits are claimed; null when none was given.',
  reason: 'What they were retired for; null when no reason was given.',
  period: 'The period whose emissions they stand for; null when none was given.',
  serialRange: 'The serial numbers of the tonnes.',
} as const;

builder.objectFields(RetirementRef, (t) => ({
  beneficiaryId: t.exposeString('beneficiaryId', { nullable: true, description: TEXTS.beneficiaryId }),
  jurisdiction: t.expose('jurisdiction', {
    type: 'CountryCode',
    nullable: true,
    description: TEXTS.jurisdiction,
  }),
  reason: t.expose('reason', { type: RetirementReasonEnum, nullable: true, description: TEXTS.reason }),
  period: t.field({
    type: RetirementPeriodRef,
    nullable: true,
    description: TEXTS.period,
    resolve: (retirement) => periodOf(retirement),
  }),
  serialRange: t.field({
    type: SerialRangeRef,
    nullable: true,
    description: `${TEXTS.serialRange} Null until it is RETIRED.`,
    resolve: serialNumbersOf,
  }),
}));

const ELSEWHERE =
  'Kept by this platform, not by the token: null for retirements made elsewhere, and until its own one is settled.';

/** A fact of the record's retirement on this platform. */
function fromRetirement<Value>(
  read: (retirement: Retirement, args: object, context: Context) => Value | Promise<Value>,
) {
  return async (record: RecordPlace, args: object, context: Context) => {
    const retirement = await retirementOfRecord(context, record);
    return retirement ? read(retirement, args, context) : null;
  };
}

builder.objectFields(RetirementRecordRef, (t) => ({
  beneficiaryId: t.string({
    nullable: true,
    description: `${TEXTS.beneficiaryId} ${ELSEWHERE}`,
    resolve: fromRetirement(({ beneficiaryId }) => beneficiaryId),
  }),
  jurisdiction: t.field({
    type: 'CountryCode',
    nullable: true,
    description: `${TEXTS.jurisdiction} ${ELSEWHERE}`,
    resolve: fromRetirement(({ jurisdiction }) => jurisdiction),
  }),
  reason: t.field({
    type: RetirementReasonEnum,
    nullable: true,
    description: `${TEXTS.reason} ${ELSEWHERE}`,
    resolve: fromRetirement(({ reason }) => reason),
  }),
  period: t.field({
    type: RetirementPeriodRef,
    nullable: true,
    description: `${TEXTS.period} ${ELSEWHERE}`,
    resolve: fromRetirement(periodOf),
  }),
  serialRange: t.field({
    type: SerialRangeRef,
    nullable: true,
    description: `${TEXTS.serialRange} ${ELSEWHERE}`,
    resolve: fromRetirement(serialNumbersOf),
  }),
}));
