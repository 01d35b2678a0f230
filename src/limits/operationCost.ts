/**
 * What an operation would cost at most, known before anything of it runs: one point for each object that it may
 * resolve, lists and pages counted by their size, and one for each root field.
 */
import type { GraphQLField, GraphQLSchema } from 'graphql';
import { getNamedType, isLeafType, isListType, isNonNullType, isObjectType, Kind } from 'graphql';
import type { DocumentNode, GraphQLOutputType, OperationDefinitionNode } from 'graphql';
import { complexityFromQuery } from '@pothos/plugin-complexity';
import { requireAtMost } from './tooLarge.ts';

export interface OperationLimits {
  maxCost: number;
  maxDepth: number;
}

/** Fields that are selected, each as often as a fragment brings it. */
export const MAX_FIELDS = 500;
/** Lists without pages are short, */
const LIST_SIZE = 10;
/** but for these, which may be asked for twice in one operation, not fifty times. */
const LONG_LISTS: Readonly<Record<string, number>> = { 'Registry.records': 4_000 };
/** Larger pages are refused by the field itself, with a better message. */
const MAX_PAGE_SIZE = 100;

export interface OperationSize {
  cost: number;
  depth: number;
  fields: number;
}

type Field = GraphQLField<unknown, unknown>;

const priced = new WeakSet<GraphQLSchema>();

/** Puts its price beside every field, where `measure` reads it. */
export function priceFields(schema: GraphQLSchema): void {
  if (priced.has(schema)) return;
  priced.add(schema);
  const roots = new Set([schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]);
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    const isPage = type.name.endsWith('Connection');
    for (const field of Object.values(type.getFields())) {
      Object.assign(field.extensions, {
        complexity: priceOf(`${type.name}.${field.name}`, field, roots.has(type), isPage),
      });
    }
  }
}

function priceOf(path: string, field: Field, isRoot: boolean, isPage: boolean) {
  const isFree = !isRoot && isLeafType(getNamedType(field.type));
  if (field.args.some(({ name }) => name === 'first')) {
    return (args: { first?: unknown; last?: unknown }) => ({
      field: 1,
      multiplier: pageSize(args.first ?? args.last),
    });
  }
  // The page's size was counted at the field that asked for it.
  const size = isList(field.type) && !isPage ? (LONG_LISTS[path] ?? LIST_SIZE) : 1;
  return { field: isFree ? 0 : size, multiplier: size };
}

function pageSize(asked: unknown): number {
  return typeof asked === 'number' && asked > 0 ? Math.min(asked, MAX_PAGE_SIZE) : 1;
}

function isList(type: GraphQLOutputType): boolean {
  return isNonNullType(type) ? isListType(type.ofType) : isListType(type);
}

/**
 * The size of a valid operation of a priced schema.
 * @throws what the coercion of its variables and arguments throws
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
  requireAtMost(limits.maxCost, 'cost', size.cost);
  requireAtMost(limits.maxDepth, 'depth', size.depth);
  requireAtMost(MAX_FIELDS, 'number of fields', size.fields);
}
