/**
 * The links between a project, its registry, and a retirement's public record.
 */
import { findRecord } from '../../resolvers/carbon/findRecord.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { readRegistry } from '../../resolvers/carbon/readRegistry.ts';
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
      "Its token's public retirement history, read from the token now, as by the query `registry`; null until the token is " +
      'deployed. Errors: LEDGER_UNAVAILABLE.',
    resolve: ({ tokenAddress }, _args, { dependencies, remoteAddress }) =>
      tokenAddress === null ? null : readRegistry(dependencies, tokenAddress, addressKey(remoteAddress)),
  }),
  buyable: t.boolean({
    description: 'Whether its credits can be purchased now: it is OPEN, and some are unsold.',
    resolve: async ({ id, state }, _args, context) =>
      state === 'OPEN' && (await balancesOfProject(context, id)).inventory > 0n,
  }),
}));

builder.objectField(RetirementRef, 'record', (t) =>
  t.field({
    type: RetirementRecordRef,
    nullable: true,
    description:
      "Its public record, as the project's token has it. The other fields are what the platform asked " +
      'for. Null until it is RETIRED and the feed has read the record.',
    resolve: async ({ projectId, recordIndex }, _args, context) => {
      if (recordIndex === null) return null;
      const { tokenAddress } = await projectOf(context, projectId);
      return tokenAddress === null ? null : findRecord(context.dependencies, tokenAddress, recordIndex);
    },
  }),
);
