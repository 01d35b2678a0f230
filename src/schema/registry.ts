/**
 * registry: a token's public retirement history, read from the token.
 */
import {
  MAX_REGISTRY_RECORDS,
  readAllRecords,
  readRecords,
  readRegistry,
} from '../resolvers/readRegistry.ts';
import type { Registry } from '../resolvers/readRegistry.ts';
import { forEverybody } from './access.ts';
import { cursorValues, listNames, pageOf, valueCursors } from './paging.ts';
import { builder } from './platform.ts';
import { ProjectRef } from './project.ts';
import { RetirementRecordRef } from './retirementRecord.ts';
import { address } from './text.ts';

const cursors = valueCursors('records', cursorValues.integer.transform(Number));

const RegistryRef = builder.objectRef<Registry>('Registry').implement({
  description: "A token's public retirement history, as the token itself tells it.",
  fields: (t) => ({
    tokenAddress: t.string({
      description: "The token's address.",
      resolve: ({ project }) => project.tokenAddress,
    }),
    project: t.field({ type: ProjectRef, description: 'The project.', resolve: ({ project }) => project }),
    totalRetired: t.field({
      type: 'BaseUnits',
      description: 'Everything that was ever retired, in base units (10^18 are a tonne CO2e).',
      resolve: ({ totals }) => totals.totalRetired,
    }),
    totalSupply: t.field({
      type: 'BaseUnits',
      description: 'Everything that is in circulation, in base units (10^18 are a tonne CO2e).',
      resolve: ({ totals }) => totals.totalSupply,
    }),
    totalRetirements: t.int({
      description: 'How many records there are.',
      resolve: ({ totals }) => totals.totalRetirements,
    }),
    records: t.field({
      type: [RetirementRecordRef],
      description:
        `Every record, in ascending order of index. RESULT_TOO_LARGE when there are over ${MAX_REGISTRY_RECORDS}: then ` +
        'page through `recordsConnection`.',
      resolve: (registry, _args, { dependencies }) => readAllRecords(dependencies, registry),
    }),
    recordsConnection: t.connection(
      {
        type: RetirementRecordRef,
        description: 'The records, in ascending order of index, a page at a time.',
        resolve: (registry, args, { dependencies }) =>
          pageOf(
            args,
            cursors,
            (page) => readRecords(dependencies, registry, page),
            ({ index }) => index,
          ),
      },
      ...listNames('RetirementRecord'),
    ),
  }),
});

builder.queryField('registry', (t) =>
  t.field({
    ...forEverybody(
      "A token's public retirement history, read from the token. Errors: NOT_FOUND when no project has a token there, " +
        'LEDGER_UNAVAILABLE.',
    ),
    type: RegistryRef,
    args: {
      tokenAddress: t.arg.string({
        required: true,
        validate: { schema: address },
        description: "The token's address on the ledger network.",
      }),
    },
    resolve: (_root, { tokenAddress }, { dependencies }) => readRegistry(dependencies, tokenAddress),
  }),
);
