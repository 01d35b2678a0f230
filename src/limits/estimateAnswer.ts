/**
 * Estimates how large an operation's answer can become, before anything of it runs: every leaf has its type's
 * maximum length, and every list its maximum number of entries. A leaf costs nothing to resolve, so fifty
 * aliases of one note would otherwise make hundreds of megabytes out of one list.
 */
import {
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  Kind,
  OperationTypeNode,
  valueFromASTUntyped,
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { fragmentsOf } from './fragments.ts';
import { MAX_PAGE_SIZE, pageSize } from '../lib/pageSizes.ts';
import { isList, LIST_SIZE, LONG_LISTS } from './operationCost.ts';
import { LARGE_BYTES } from './measureAnswer.ts';
import { requireAtMost } from './tooLarge.ts';

/** The longest answer with a whole registry and all of its fields once; real ones have a tenth of that. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Texts that may be long, in UTF-8 bytes; JSON escapes at most one of two characters in them. */
const LONG_TEXTS: Readonly<Record<string, number>> = { note: 2 * 1024, beneficiary: 2 * 256 };
const LEAF_BYTES = 96;
/** Quotes, colon and comma of a field; braces and comma of an object. */
const PUNCTUATION_BYTES = 4;

/**
 * A query's answer is measured again when it is made. A mutation's answer can't be refused then, because the
 * mutation has had its effect: a mutation whose answer may be large is not begun.
 * @throws DomainError OPERATION_TOO_LARGE
 */
export function requireAnswerWithinLimit(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): void {
  const bytes = estimateAnswerBytes(schema, document, operation, variables);
  if (operation.operation === OperationTypeNode.MUTATION)
    requireAtMost(
      LARGE_BYTES,
      'LONGEST_ANSWER_BYTES',
      bytes,
      'Select less of what the mutation returns, and read the rest in a query.',
    );
  else requireAtMost(MAX_ANSWER_BYTES, 'LONGEST_ANSWER_BYTES', bytes);
}

/** Introspection is counted separately. The document is valid, so fragments have no cycles. */
export function estimateAnswerBytes(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): number {
  const fragments = fragmentsOf(document);
  /** A fragment that is spread a thousand times is walked once for each type. */
  const known = new Map<SelectionSetNode, Map<string, number>>();

  function bytesOf(selectionSet: SelectionSetNode, type: GraphQLNamedType): number {
    const before = known.get(selectionSet)?.get(type.name);
    if (before !== undefined) return before;
    let bytes = 0;
    for (const selection of selectionSet.selections) {
      if (selection.kind === Kind.FIELD) {
        bytes += bytesOfField(selection, type);
        continue;
      }
      const spread =
        selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
      const condition = spread?.typeCondition?.name.value;
      const narrowed = condition === undefined ? type : (schema.getType(condition) ?? type);
      if (spread) bytes += bytesOf(spread.selectionSet, narrowed);
    }
    known.set(selectionSet, (known.get(selectionSet) ?? new Map<string, number>()).set(type.name, bytes));
    return bytes;
  }

  function bytesOfField(node: FieldNode, type: GraphQLNamedType): number {
    const name = node.name.value;
    const nameBytes = (node.alias ?? node.name).value.length + PUNCTUATION_BYTES;
    if (name.startsWith('__')) return nameBytes + LEAF_BYTES;
    const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[name] : undefined;
    if (!field) return nameBytes;
    const named = getNamedType(field.type);
    const below = node.selectionSet ? bytesOf(node.selectionSet, named) + PUNCTUATION_BYTES : 0;
    const each = isLeafType(named) ? (LONG_TEXTS[name] ?? LEAF_BYTES) : below;
    return nameBytes + each * entriesOf(`${type.name}.${name}`, field, node, variables);
  }

  const root = schema.getRootType(operation.operation);
  return root ? bytesOf(operation.selectionSet, root) : 0;
}

/**
 * Maximum entries of a field. The page size is counted at the connection, so its `edges` and its `nodes` each
 * have factor 1.
 */
function entriesOf(
  path: string,
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  variables: Readonly<Record<string, unknown>>,
): number {
  if (field.args.some(({ name }) => name === 'first')) return pageSize(askedSize(node, variables));
  if (!isList(field.type) || path.split('.', 1)[0]?.endsWith('Connection')) return 1;
  return LONG_LISTS[path] ?? LIST_SIZE;
}

function askedSize(node: FieldNode, variables: Readonly<Record<string, unknown>>): unknown {
  for (const name of ['first', 'last']) {
    const argument = node.arguments?.find((given) => given.name.value === name);
    if (argument === undefined) continue;
    const asked = valueFromASTUntyped(argument.value, variables);
    // The default of a variable that was not sent is not read here.
    if (asked === undefined) return MAX_PAGE_SIZE;
    if (asked !== null) return asked;
  }
  return undefined;
}
