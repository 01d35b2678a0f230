/**
 * registry: a token's public retirement history, read from the token.
 */
import {
  MAX_REGISTRY_RECORDS,
  readAllRecords,
  readRecords,
  readRegistry,
  type Registry,
} from '../../resolvers/carbon/readRegistry.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { MAX_COUNTED } from '../../lib/pageSizes.ts';
import { forPublic } from '../core/access.ts';
import { cursorValues, pageOf, valueCursors } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { TOKEN_ADDRESS } from '../core/tokenAddress.ts';
import { ProjectRef } from './project.ts';
import { RetirementRecordConnection, RetirementRecordEdge, RetirementRecordRef } from './retirementRecord.ts';

const cursors = valueCursors('records', cursorValues.integer.transform(Number));

export const RegistryRef = builder.objectRef<Registry>('Registry').implement({
  description:
    'The public retirement history of a token, read from the token: the records that are final on the network now.',
  fields: (t) => ({
    tokenAddress: t.field({
      type: 'Address',
      description: 'The address of the token.',
      resolve: ({ project }) => project.tokenAddress,
    }),
    project: t.field({
      type: ProjectRef,
      description: 'The project of the token.',
      resolve: ({ project }) => project,
    }),
    totalRetired: t.field({
      type: 'BaseUnits',
      description: 'The total amount ever retired, in base units (10^18 base units are one tonne CO2e).',
      resolve: ({ totals }) => totals.totalRetired,
    }),
    totalSupply: t.field({
      type: 'BaseUnits',
      description: 'The total amount in circulation, in base units (10^18 base units are one tonne CO2e).',
      resolve: ({ totals }) => totals.totalSupply,
    }),
    totalRetirements: t.int({
      description:
        'The number of records, as counted by the token. `recordsConnection { totalCount }` stops counting at a limit.',
      resolve: ({ totals }) => totals.totalRetirements,
    }),
    records: t.field({
      type: [RetirementRecordRef],
      description:
        'All records, in ascending order of index, in one response, for short lists. Returns RESULT_TOO_LARGE for ' +
        `more than ${MAX_REGISTRY_RECORDS} records: programs should use \`recordsConnection\`, which has the same records.`,
      resolve: (registry, _args, { dependencies }) => readAllRecords(dependencies, registry),
    }),
    recordsConnection: t.connection(
      {
        type: RetirementRecordRef,
        description:
          'A paginated list of the same records as `records`, in ascending order of index, without a limit on their number.',
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
      'The public retirement history of a token, read from the token. Null when no project has a token at this ' +
        'address. Errors: LEDGER_UNAVAILABLE.',
    ),
    type: RegistryRef,
    args: { tokenAddress: t.arg(TOKEN_ADDRESS) },
    resolve: (_root, { tokenAddress }, { dependencies, remoteAddress }) =>
      readRegistry(dependencies, tokenAddress, addressKey(remoteAddress)),
  }),
);
