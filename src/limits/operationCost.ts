/**
 * The upper bound of an operation's cost, computed before it runs: one point for each object that it may
 * resolve, lists and pages counted by their size, and one for each root field.
 */
import type { GraphQLField, GraphQLSchema } from 'graphql';
import { getNamedType, isLeafType, isListType, isNonNullType, isObjectType, Kind } from 'graphql';
import type { DocumentNode, GraphQLOutputType, OperationDefinitionNode } from 'graphql';
import { complexityFromQuery } from '@pothos/plugin-complexity';
import { pageSize } from '../lib/pageSizes.ts';
import type { Limits } from './limits.ts';
import { requireAtMost } from './tooLarge.ts';

export type OperationLimits = Pick<Limits, 'MAX_OPERATION_COST' | 'MAX_OPERATION_DEPTH'>;

/** Limit on selected fields, counted once for each use of a fragment. */
const MAX_FIELDS = 500;
/** Assumed size of a list without pages. */
export const LIST_SIZE = 10;
/** Maximum entries of lists without pages that may be longer. */
export const LONG_LISTS: Readonly<Record<string, number>> = {
  'ApiKey.warehouseIds': 100,
  'ApprovalRequest.input': 13,
  'AuditEntry.targetIds': 256,
  'ConsistencyProof.hashes': 64,
  'ExpiryRun.failures': 100,
  'InclusionProof.hashes': 64,
  'InvariantStatus.findings': 50,
  'InvariantStatus.notProved': 50,
  'OffRampSession.holderActs': 100,
  'OffRampSession.providerHistory': 100,
  'OffRampSession.reviews': 100,
  'Query.commodityTypes': 100,
  'Query.creditTypes': 100,
  'Query.invariants': 16,
  'Query.projectTypes': 100,
  'Reconciliation.findings': 110,
  'Reconciliation.notProved': 210,
  'Registry.records': 10_000,
  'Viewer.warehouseIds': 100,
};
/** Counted as shorter, because each is read at once. */
const CHEAPER_LISTS: Readonly<Record<string, number>> = {
  // An operation may select them twice, not fifty times.
  'Registry.records': 4_000,
  // Nearly all have a few entries. By their maximum, no page of a hundred could select one.
  'ExpiryRun.failures': LIST_SIZE,
  'OffRampSession.holderActs': LIST_SIZE,
  'OffRampSession.providerHistory': LIST_SIZE,
  'OffRampSession.reviews': LIST_SIZE,
};
/** Fields that cost the database more than their answer: tenths of a second at a million records. */
const COSTLY_FIELDS: Readonly<Record<string, number>> = {
  'Query.retirementTotals': 500,
  'Query.retirementRecords': 100,
  // Reads every project or receipt.
  'Query.projectTypes': 100,
  'Query.creditTypes': 100,
  'Query.commodityTypes': 100,
  // A request to the network, or up to ten.
  'RetirementRecord.onNetwork': 100,
  'Submission.foundOnNetwork': 100,
  // Up to fifty requests to the network.
  'Query.reconciliation': 4_000,
  // A request to the ramp provider, from the few a second that cash-outs need as well.
  'Query.offRampQuote': 1_000,
  // Up to three requests, shared by all callers for a token. One page of a hundred projects is allowed.
  'Query.registry': 80,
  'Project.registry': 80,
  // A tile, an entry, and a thousand hashes.
  'RetirementRecord.inclusionProof': 20,
  // May read the ids of all leaves.
  'Purchase.inclusionProof': 200,
  'Query.consistencyProof': 20,
};
/** Price of counting a list, which reads up to MAX_COUNTED index entries. */
const COUNT_COST = 10;

export interface OperationSize {
  cost: number;
  depth: number;
  fields: number;
}

type Field = GraphQLField<unknown, unknown>;

/**
 * Attaches a price to every field, for `measure`. Prices use the arguments as they were sent: mapping would
 * decode global ids before the field runs, and a malformed id would end the whole operation without naming
 * its place.
 */
export function priceFields(schema: GraphQLSchema): void {
  const roots = new Set([schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]);
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    const isPage = type.name.endsWith('Connection');
    for (const field of Object.values(type.getFields())) {
      Object.assign(field.extensions, {
        complexity: priceOf(`${type.name}.${field.name}`, field, roots.has(type), isPage),
        // Only the measuring reads these mappers of the built schema.
        pothosArgMappers: [],
      });
    }
  }
}

function priceOf(path: string, field: Field, isRoot: boolean, isPage: boolean) {
  const isFree = !isRoot && isLeafType(getNamedType(field.type));
  if (field.args.some(({ name }) => name === 'first')) {
    return (args: { first?: unknown; last?: unknown }) => ({
      field: COSTLY_FIELDS[path] ?? 1,
      multiplier: pageSize(args.first ?? args.last),
    });
  }
  if (isPage && field.name === 'totalCount') return { field: COUNT_COST, multiplier: 1 };
  // The page's size was counted at the field that asked for it.
  const size = isList(field.type) && !isPage ? (CHEAPER_LISTS[path] ?? LONG_LISTS[path] ?? LIST_SIZE) : 1;
  return { field: COSTLY_FIELDS[path] ?? (isFree ? 0 : size), multiplier: size };
}

/** Whether the type is a list, also where null is not allowed. */
export function isList(type: GraphQLOutputType): boolean {
  return isNonNullType(type) ? isListType(type.ofType) : isListType(type);
}

/**
 * The size of a valid operation of a priced schema.
 * @throws the errors of coercing its variables and arguments
 */
export function measure(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown> | undefined,
): OperationSize {
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  const own = { ...document, definitions: [operation, ...fragments] };
  const { complexity, depth, breadth } = complexityFromQuery(own, { schema, variables: variables ?? {} });
  return { cost: complexity, depth, fields: breadth };
}

/** @throws DomainError OPERATION_TOO_LARGE */
export function requireAffordable(size: OperationSize, limits: OperationLimits): void {
  requireAtMost(limits.MAX_OPERATION_COST, 'COST', size.cost);
  requireAtMost(limits.MAX_OPERATION_DEPTH, 'DEPTH', size.depth);
  requireAtMost(MAX_FIELDS, 'FIELDS', size.fields);
}
