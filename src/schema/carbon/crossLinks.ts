/**
 * The links between a project, its registry, and a retirement's public record.
 */
import { findRecordsAt } from '../../resolvers/carbon/findRecord.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { readRegistry } from '../../resolvers/carbon/readRegistry.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import { balancesOfProject, projectOf, ProjectRef } from './project.ts';
import { RegistryRef } from './registry.ts';
import { RetirementRef } from './retirement.ts';
import { RetirementRecordRef } from './retirementRecord.ts';

builder.objectFields(ProjectRef, (t) => ({
  registry: t.field({
    type: RegistryRef,
    nullable: true,
    description:
      "The public retirement history of the project's token, read from the token now, like the query `registry`. " +
      'Null until the token is deployed. Errors: LEDGER_UNAVAILABLE.',
    resolve: ({ tokenAddress }, _args, { dependencies, remoteAddress }) =>
      tokenAddress === null ? null : readRegistry(dependencies, tokenAddress, addressKey(remoteAddress)),
  }),
  buyable: t.boolean({
    description:
      "Whether the project's credits can be purchased now: the project is OPEN, and some credits are unsold.",
    resolve: async ({ id, state }, _args, context) =>
      state === 'OPEN' && (await balancesOfProject(context, id)).inventory > 0n,
  }),
}));

const recordAt = createBatch(findRecordsAt);

builder.objectField(RetirementRef, 'record', (t) =>
  t.field({
    type: RetirementRecordRef,
    nullable: true,
    description:
      "The public record of the retirement on the project's token. The other fields show what was requested from " +
      'the platform. Null until the retirement is RETIRED and the feed has read the record.',
    resolve: async ({ projectId, recordIndex }, _args, context) => {
      if (recordIndex === null) return null;
      const { tokenAddress } = await projectOf(context, projectId);
      return tokenAddress === null ? null : recordAt(context, [tokenAddress, recordIndex]);
    },
  }),
);
