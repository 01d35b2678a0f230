/**
 * Writes a plain list (plainLists.ts) as JSON, with the resolvers and scalars that graphql-js would use.
 */
import {
  defaultFieldResolver,
  type FieldNode,
  type GraphQLField,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
} from 'graphql';
import { cachedJsonOf } from '../../lib/jsonCache.ts';
import { ReadyJson } from '../../lib/readyJson.ts';
import { bytesOfName, bytesOfScalar, MAX_WRITTEN_BYTES } from '../../limits/measureAnswer.ts';

type Field = GraphQLField<unknown, unknown>;

export interface ListPlan {
  field: Field;
  node: FieldNode;
  itemType: GraphQLObjectType;
  values: readonly PlannedValue[];
}

export interface PlannedValue {
  key: string;
  node: FieldNode;
  isNonNull: boolean;
  /** Null for `__typename`. */
  field: Field | null;
  type: GraphQLLeafType | null;
}

/** Thrown when graphql-js has to execute the list. */
export const NOT_PLAIN = new Error('The list is not plain.');

export function writeList(
  plan: ListPlan,
  parent: unknown,
  args: Record<string, unknown>,
  context: unknown,
  info: GraphQLResolveInfo,
): unknown {
  const { field, node } = plan;
  const asked = { ...info, fieldName: field.name, fieldNodes: [node], returnType: field.type };
  const items: unknown = (field.resolve ?? defaultFieldResolver)(parent, args, context, asked);
  const write = (list: unknown) => writeItems(plan, list, context, asked);
  return isThenable(items) ? items.then(write) : write(items);
}

interface Writer {
  start: string;
  bytes: number;
  write(item: unknown): unknown;
  isNonNull: boolean;
}

function writeItems(plan: ListPlan, items: unknown, context: unknown, info: GraphQLResolveInfo): ReadyJson {
  if (!Array.isArray(items)) throw NOT_PLAIN;
  return cachedJsonOf(items, plan, () => writeEach(plan, items, context, info));
}

function writeEach(
  plan: ListPlan,
  items: readonly unknown[],
  context: unknown,
  info: GraphQLResolveInfo,
): ReadyJson {
  const writers = plan.values.map((value, at) => writerOf(plan, value, at, context, info));
  let text = '';
  let bytes = 0;
  for (const item of items) {
    if (typeof item !== 'object' || item === null || item instanceof Error || isThenable(item))
      throw NOT_PLAIN;
    text += text === '' ? '{' : '},{';
    for (const { start, bytes: ofName, write, isNonNull } of writers) {
      const value = write(item);
      if (value === null && isNonNull) throw NOT_PLAIN;
      bytes += ofName + bytesOfScalar(value);
      text += start + JSON.stringify(value);
    }
    if (bytes > MAX_WRITTEN_BYTES) throw NOT_PLAIN;
  }
  return new ReadyJson(text === '' ? '[]' : `[${text}}]`, bytes);
}

/** Writes one value of each item. The path that its resolver gets has index 0 for every item. */
function writerOf(
  { itemType }: ListPlan,
  { key, node, field, type, isNonNull }: PlannedValue,
  at: number,
  context: unknown,
  list: GraphQLResolveInfo,
): Writer {
  const start = `${at === 0 ? '' : ','}${JSON.stringify(key)}:`;
  const bytes = bytesOfName(key);
  if (field === null || type === null) return { start, bytes, isNonNull, write: () => itemType.name };
  const path = {
    prev: { prev: list.path, key: 0, typename: undefined },
    key,
    typename: itemType.name,
  };
  const info = {
    ...list,
    fieldName: field.name,
    fieldNodes: [node],
    returnType: field.type,
    parentType: itemType,
    path,
  };
  const resolve = field.resolve ?? defaultFieldResolver;
  const write = (item: unknown) => {
    try {
      const value: unknown = resolve(item, {}, context, info);
      if (isThenable(value)) value.then(undefined, () => undefined);
      if (value == null) return null;
      const written = typeof value === 'object' ? NOT_PLAIN : type.serialize(value);
      if (typeof written === 'string' || typeof written === 'boolean' || Number.isFinite(written))
        return written;
    } catch {
      // graphql-js will meet the same error and give it its path.
    }
    throw NOT_PLAIN;
  };
  return { start, bytes, isNonNull, write };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
