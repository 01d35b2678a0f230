/**
 * Executes queries with plain lists: lists of objects of which only leaf values are selected. A long answer
 * is mostly such lists, and graphql-js takes longer to assemble their objects, field by field, than the rest
 * of the answer takes.
 *
 *   document ─▶ its plain lists asked for as one value each ─▶ graphql-js ─▶ that value is the list's JSON
 *        └─none, or one that turns out not to be plain─▶ graphql-js, as it is
 *
 * A list's values come from the same resolvers and scalars. If one of them gives an error, a promise or a
 * null where none may be, graphql-js executes the operation again, so only queries are executed this way.
 */
import {
  execute,
  getNullableType,
  GraphQLNonNull,
  GraphQLScalarType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  OperationTypeNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
} from 'graphql';
import { holdsReady } from '../../lib/readyJson.ts';
import { NOT_PLAIN, writeList, type ListPlan, type PlannedValue } from './writeList.ts';

type Execute = (args: ExecutionArgs) => ExecutionResult | Promise<ExecutionResult>;
type Field = GraphQLField<unknown, unknown>;

/** Executes documents that are kept, because each is examined once. The result may have ReadyJson in it. */
export function createPlainLists(schema: GraphQLSchema): Execute {
  const known = new WeakMap<DocumentNode, DocumentNode | null>();
  return (args) => {
    let document = known.get(args.document);
    if (document === undefined) {
      document = withPlainLists(schema, args.document);
      known.set(args.document, document);
    }
    if (document === null) return execute(args);
    const check = (result: ExecutionResult) => {
      const { errors = [] } = result;
      if (errors.some(({ originalError }) => originalError === NOT_PLAIN)) {
        // The list would not be plain the next time either.
        known.set(args.document, null);
        return execute(args);
      }
      if (errors.some((error) => mayHideOthers(error, result.data))) return execute(args);
      if (errors.length === 0 && result.data != null) holdsReady(result.data);
      return result;
    };
    const result = execute({ ...args, document });
    return 'then' in result ? result.then(check) : check(result);
  };
}

/**
 * Whether an error nulled more than its own field. The error of a plain list in the nulled part is then lost,
 * and graphql-js would report the first of both, which may be the list's.
 */
function mayHideOthers({ path = [] }: GraphQLError, data: ExecutionResult['data']): boolean {
  let value: unknown = data;
  for (const key of path) {
    if (value == null) return true;
    value = (value as Record<string | number, unknown>)[key];
  }
  return false;
}

/** @returns null when the document has no plain list */
function withPlainLists(schema: GraphQLSchema, document: DocumentNode): DocumentNode | null {
  if (!isSimple(document)) return null;
  const types = new TypeInfo(schema);
  let found = false;
  const changed = visit(
    document,
    visitWithTypeInfo(types, {
      Field: (node) => {
        const [parent, field] = [types.getParentType(), types.getFieldDef()];
        const plan = field && isObjectType(parent) ? planOf(field, node) : null;
        if (plan === null || !isObjectType(parent)) return undefined;
        found = true;
        const { selectionSet: _none, ...others } = node;
        const alias = node.alias ?? node.name;
        const asText: FieldNode = {
          ...others,
          alias,
          name: { ...node.name, value: textFieldOf(parent, plan) },
        };
        plans.set(asText, plan);
        return asText;
      },
    }),
  );
  return found ? changed : null;
}

/**
 * Whether a document is a query without fragments, directives and repeated response names, so that no field
 * is merged.
 */
function isSimple(document: DocumentNode): boolean {
  let isSimpleSoFar = true;
  const refuse = () => {
    isSimpleSoFar = false;
  };
  visit(document, {
    Directive: refuse,
    FragmentDefinition: refuse,
    InlineFragment: refuse,
    FragmentSpread: refuse,
    OperationDefinition: ({ operation }) => (operation === OperationTypeNode.QUERY ? undefined : refuse()),
    SelectionSet: ({ selections }) => {
      const keys = selections.map((node) => (node.kind === Kind.FIELD ? keyOf(node) : ''));
      if (new Set(keys).size < keys.length) refuse();
    },
  });
  return isSimpleSoFar;
}

function keyOf({ alias, name }: FieldNode): string {
  return (alias ?? name).value;
}

function planOf(field: Field, node: FieldNode): ListPlan | null {
  const listType = getNullableType(field.type);
  const itemType = isListType(listType) && isNonNullType(listType.ofType) ? listType.ofType.ofType : null;
  if (!isObjectType(itemType) || itemType.isTypeOf != null || node.selectionSet === undefined) return null;
  const values: PlannedValue[] = [];
  for (const selection of node.selectionSet.selections) {
    const value = selection.kind === Kind.FIELD ? valueOf(itemType, selection) : null;
    if (value === null) return null;
    values.push(value);
  }
  return { field, node, itemType, values };
}

function valueOf(itemType: GraphQLObjectType, node: FieldNode): PlannedValue | null {
  const key = keyOf(node);
  if (node.name.value === '__typename') return { key, node, field: null, type: null, isNonNull: true };
  const field = itemType.getFields()[node.name.value];
  const type = getNullableType(field?.type);
  if (field === undefined || field.args.length > 0 || !isLeafType(type)) return null;
  return { key, node, field, type, isNonNull: isNonNullType(field.type) };
}

/** Plans by the node that asks for the list as text. */
const plans = new WeakMap<FieldNode, ListPlan>();

const TEXT = new GraphQLScalarType({ name: 'PlainList' });

/**
 * The name of a field that gives the list as text. No document can name the field, and no listing of the
 * type's fields shows it.
 */
function textFieldOf(parent: GraphQLObjectType, { field }: ListPlan): string {
  const name = `${field.name} as text`;
  const fields = parent.getFields();
  if (fields[name] === undefined) {
    Object.defineProperty(fields, name, { enumerable: false, value: asText(field) });
  }
  return name;
}

function asText(field: Field): Field {
  return {
    ...field,
    type: isNonNullType(field.type) ? new GraphQLNonNull(TEXT) : TEXT,
    resolve: (parent, args, context, info) => {
      const [node] = info.fieldNodes;
      const plan = node && plans.get(node);
      if (plan === undefined) throw NOT_PLAIN;
      return writeList(plan, parent, args, context, info);
    },
  };
}
