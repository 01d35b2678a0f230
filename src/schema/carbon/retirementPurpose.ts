/**
 * The beneficiary and purpose of retired credits, and their serial numbers: on the platform's retirements,
 * and publicly on the token's records that belong to one.
 */
import type { ObjectFieldBuilder } from '@pothos/core';
import { type Retirement, findRetirementsOfRecords } from '../../resolvers/carbon/findRetirement.ts';
import { readSerialNumbers, type SerialNumbers } from '../../resolvers/carbon/serialNumbers.ts';
import { createBatch } from '../core/batch.ts';
import { builder, type ContractTypes } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import type { Context } from '../core/context.ts';
import type { RetirementPurpose } from '../../resolvers/carbon/retirementPurpose.ts';
import { RetirementRef } from './retirement.ts';
import { RetirementRecordRef } from './retirementRecord.ts';

const SerialRangeRef = builder.objectRef<SerialNumbers>('SerialRange').implement({
  description:
    'The serial numbers of retired tonnes, such as `VCS-1-2024-000041`: the asset id and a number for each ' +
    "tonne, counted from 1 in the order in which the platform's books retired the tonnes.",
  fields: (t) => ({
    first: t.exposeString('first', { description: 'The serial number of the first tonne.' }),
    last: t.exposeString('last', {
      description: 'The serial number of the last tonne, which is included in the range.',
    }),
  }),
});

const serialsByRetirement = createBatch(readSerialNumbers);

export const RetirementReasonEnum = enumOf(
  'RetirementReason',
  'The reason for retiring credits, as registries record it.',
  {
    VOLUNTARY_OFFSET: "To compensate for the beneficiary's own emissions, voluntarily.",
    CONTRIBUTION:
      'To contribute to climate action, without claiming to have compensated for emissions; also called ' +
      'environmental benefit.',
    COMPLIANCE:
      'To meet an obligation under the law of the `jurisdiction`, which it requires, such as a carbon tax or an ' +
      'emissions trading system.',
    CORSIA: "To meet an airline's obligation under CORSIA, the ICAO's scheme for international aviation.",
    ARTICLE_6:
      "Towards another country's nationally determined contribution, or other international mitigation, under Article 6 of " +
      'the Paris Agreement.',
  },
);

interface Period {
  from: string;
  until: string;
}

const RetirementPeriodRef = builder.objectRef<Period>('RetirementPeriod').implement({
  description: 'The period whose emissions a retirement stands for.',
  fields: (t) => ({
    from: t.expose('from', { type: 'Date', description: 'The first day of the period.' }),
    until: t.expose('until', { type: 'Date', description: 'The day after the last day of the period.' }),
  }),
});

export const RetirementPeriodInput = builder.inputType('RetirementPeriodInput', {
  description: 'The period whose emissions a retirement stands for.',
  fields: (t) => ({
    from: t.field({ type: 'Date', required: true, description: 'The first day of the period.' }),
    until: t.field({
      type: 'Date',
      required: true,
      description: 'The day after the last day of the period.',
    }),
  }),
});

const retirementOfRecord = createBatch(findRetirementsOfRecords);

function periodOf({ periodFrom, periodUntil }: RetirementPurpose): Period | null {
  return periodFrom === null || periodUntil === null ? null : { from: periodFrom, until: periodUntil };
}

interface Source<Parent> {
  retirementOf: (parent: Parent, context: Context) => Promise<Retirement | undefined>;
  /** When the fields are null, besides the cases that each names itself. */
  otherwise?: string;
  serialOtherwise: string;
}

function purposeFields<Parent>(
  t: ObjectFieldBuilder<ContractTypes, Parent>,
  { retirementOf, otherwise = '', serialOtherwise }: Source<Parent>,
) {
  const from =
    <Value>(read: (retirement: Retirement, context: Context) => Value | Promise<Value>) =>
    async (parent: Parent, _args: object, context: Context) => {
      const retirement = await retirementOf(parent, context);
      return retirement ? read(retirement, context) : null;
    };
  return {
    beneficiaryId: t.string({
      nullable: true,
      description:
        "The beneficiary's id in a public register, such as an LEI or a company number. Null when none was " +
        `given.${otherwise}`,
      resolve: from(({ beneficiaryId }) => beneficiaryId),
    }),
    jurisdiction: t.field({
      type: 'CountryCode',
      nullable: true,
      description: `The country under whose rules the credits are claimed. Null when none was given.${otherwise}`,
      resolve: from(({ jurisdiction }) => jurisdiction),
    }),
    reason: t.field({
      type: RetirementReasonEnum,
      nullable: true,
      description: `The reason for the retirement. Null when none was given.${otherwise}`,
      resolve: from(({ reason }) => reason),
    }),
    period: t.field({
      type: RetirementPeriodRef,
      nullable: true,
      description: `The period whose emissions the credits stand for. Null when none was given.${otherwise}`,
      resolve: from(periodOf),
    }),
    serialRange: t.field({
      type: SerialRangeRef,
      nullable: true,
      description: `The serial numbers of the retired tonnes.${serialOtherwise}`,
      resolve: from((retirement, context) => serialsByRetirement(context, retirement)),
    }),
  };
}

builder.objectFields(RetirementRef, (t) =>
  purposeFields(t, {
    retirementOf: async (retirement) => retirement,
    serialOtherwise: ' Null until the retirement is RETIRED.',
  }),
);

const ELSEWHERE =
  " Stored by this platform, not by the token. Null for retirements made elsewhere, and until the platform's " +
  'retirement is settled.';

builder.objectFields(RetirementRecordRef, (t) =>
  purposeFields(t, {
    retirementOf: ({ projectId, index }, context) => retirementOfRecord(context, [projectId, index]),
    otherwise: ELSEWHERE,
    serialOtherwise: ELSEWHERE,
  }),
);
