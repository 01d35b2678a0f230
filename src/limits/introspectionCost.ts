/**
 * Counts the objects that an introspection makes of this schema. The executor makes them without this
 * product's resolvers, so no other limit counts them. A type leads to fields, which lead to types, as deep as
 * a document goes.
 */
import {
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  Kind,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { fragmentsOf } from './fragments.ts';
import { requireAtMost } from './tooLarge.ts';
import { getOrMake } from '../lib/getOrMake.ts';

interface IntrospectionSize {
  objects: number;
  depth: number;
}

/** The query that tools send makes about a third of this, and is 14 fields deep (nested list types). */
const MAX_INTROSPECTION_OBJECTS = 75_000;
const MAX_INTROSPECTION_DEPTH = 16;

/** The average number of objects, in this schema, in each list of the introspection's own types. */
type ListSizes = Readonly<Record<string, number>>;

const sizesOf = new WeakMap<GraphQLSchema, ListSizes>();

/** @throws DomainError OPERATION_TOO_LARGE */
export function requireIntrospectionWithinLimit(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): void {
  const { objects, depth } = measureIntrospection(schema, document, operation);
  requireAtMost(MAX_INTROSPECTION_OBJECTS, 'INTROSPECTION_OBJECTS', objects);
  requireAtMost(MAX_INTROSPECTION_DEPTH, 'INTROSPECTION_DEPTH', depth);
}

/** Counts `__schema` and `__type` alone. The document is valid, so fragments have no cycles. */
export function measureIntrospection(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): IntrospectionSize {
  const lists = getOrMake(sizesOf, schema, () => countLists(schema));
  const fragments = fragmentsOf(document);
  /**
   * A fragment that is spread a thousand times is walked once. A selection of the root is never one below it:
   * a fragment has one type, and no introspection leads to the root's.
   */
  const known = new Map<SelectionSetNode, IntrospectionSize>();

  function walk(selectionSet: SelectionSetNode, isRoot: boolean): IntrospectionSize {
    const before = known.get(selectionSet);
    if (before) return before;
    const size = { objects: 0, depth: 0 };
    const add = (objects: number, depth: number) => {
      size.objects += objects;
      size.depth = Math.max(size.depth, depth);
    };
    for (const selection of selectionSet.selections) {
      if (selection.kind === Kind.FIELD) {
        const { name, selectionSet: below } = selection;
        if (!below || (isRoot && !name.value.startsWith('__'))) continue;
        const inner = walk(below, false);
        add((lists[name.value] ?? 1) * (1 + inner.objects), 1 + inner.depth);
      } else {
        const spread =
          selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
        if (!spread) continue;
        const inner = walk(spread.selectionSet, isRoot);
        add(inner.objects, inner.depth);
      }
    }
    known.set(selectionSet, size);
    return size;
  }

  return walk(operation.selectionSet, true);
}

function countLists(schema: GraphQLSchema): ListSizes {
  const types = Object.values(schema.getTypeMap());
  const withFields = types.filter((type) => isObjectType(type) || isInterfaceType(type));
  const fields = withFields.flatMap((type) => Object.values(type.getFields()));
  const inputFields = types.filter(isInputObjectType).flatMap((type) => Object.values(type.getFields()));
  const values = types.filter(isEnumType).flatMap((type) => type.getValues());
  const args = fields.flatMap((field) => field.args);
  const average = (items: readonly unknown[], of: readonly unknown[]) =>
    Math.ceil(items.length / Math.max(of.length, 1));
  return {
    types: types.length,
    directives: schema.getDirectives().length,
    // The average over types with fields: a document that goes on to the fields' types goes to such types.
    fields: average(fields, withFields),
    inputFields: average(inputFields, types),
    enumValues: average(values, types),
    args: average(args, fields),
  };
}
