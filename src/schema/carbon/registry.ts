/**
 * registry: a token's public retirement history, read from the token.
 */
import {
  MAX_REGISTRY_RECORDS,
  readAllRecords,
  readRecords,
  readRegistry,
} from '../../resolvers/carbon/readRegistry.ts';
import type { Registry } from '../../resolvers/carbon/readRegistry.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { MAX_COUNTED } from '../../db/keyset.ts';
import { forPublic } from '../core/access.ts';
import { cursorValues, pageOf, valueCursors } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { TOKEN_ADDRESS } from '../core/tokenAddress.ts';
import { ProjectRef } from './project.ts';
import { RetirementRecordConnection, RetirementRecordEdge, RetirementRecordRef } from './retirementRecord.ts';

const cursors = valueCursors('records', cursorValues.integer.transform(Number));

export const RegistryRef = builder.objectRef<Registry>('Registry').implement({
  description: "A token's public retirement history, read from the token: what is final on the network now.",
  fields: (t) => ({
    tokenAddress: t.field({
      type: 'Address',
      description: "The token's address.",
      resolve: ({ project }) => project.tokenAddress,
    }),
    project: t.field({ type: ProjectRef, description: 'The project.', resolve: ({ project }) => project }),
    totalRetired: t.field({
      type: 'BaseUnits',
      description: 'The total ever retired, in base units (10^18 are a tonne CO2e).',
      resolve: ({ totals }) => totals.totalRetired,
    }),
    totalSupply: t.field({
      type: 'BaseUnits',
      description: 'The total in circulation, in base units (10^18 are a tonne CO2e).',
      resolve: ({ totals }) => totals.totalSupply,
    }),
    totalRetirements: t.int({
      description:
        'The number of records, as the token counts them; `recordsConnection { totalCount }` ends at a limit.',
      resolve: ({ totals }) => totals.totalRetirements,
    }),
    records: t.field({
      type: [RetirementRecordRef],
      description:
        `Every record, in ascending order of index, in one answer: for short lists. RESULT_TOO_LARGE for more than ` +
        `${MAX_REGISTRY_RECORDS}: programs page through \`recordsConnection\`, which has the same records.`,
      resolve: (registry, _args, { dependencies }) => readAllRecords(dependencies, registry),
    }),
    recordsConnection: t.connection(
      {
        type: RetirementRecordRef,
        description:
          'The same records as `records`, in ascending order of index, a page at a time: however many there are.',
        resolve: (registry, args, { dependencies }) =>
          pageOf(args, cursors, {
            list: (page) => readRecords(dependencies, registry, page),
            cursorOf: ({ index }) => index,
            count: async () => Math.min(registry.totals.totalRetirements, MAX_COUNTED),
          }),
      },
      RetirementRecordConnection,
      RetirementRecordEdge,
    ),
  }),
});

builder.queryField('registry', (t) =>
  t.field({
    ...forPublic(
      "A token's public retirement history, read from the token; null when no project has a token there. Errors: " +
        'LEDGER_UNAVAILABLE.',
    ),
    type: RegistryRef,
    nullable: true,
    args: { tokenAddress: t.arg(TOKEN_ADDRESS) },
    resolve: (_root, { tokenAddress }, { dependencies, remoteAddress }) =>
      readRegistry(dependencies, tokenAddress, addressKey(remoteAddress)),
  }),
);
