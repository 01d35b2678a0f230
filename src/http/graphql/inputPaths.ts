/**
 * The place of a value in a request, as a dotted path from the arguments of its field ("input.amountCO2e",
 * "input.roles.0"). `extensions.field` has this form whether a rule, a literal or a variable was wrong.
 */
import {
  Kind,
  type ArgumentNode,
  type ASTNode,
  type DocumentNode,
  type GraphQLError,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';

/** Sets `extensions.field` of an error about a literal or a variable to the dotted path. Call it once. */
export function placeInput(error: GraphQLError, document: DocumentNode): GraphQLError {
  const { extensions } = error;
  if (extensions['code'] !== 'BAD_USER_INPUT') return error;
  const variable = /^Variable "\$(\w+)"/.exec(error.message)?.[1];
  const field =
    variable === undefined ? literalPath(error, document) : variablePath(error, document, variable);
  if (field !== undefined) extensions['field'] = field;
  return error;
}

/** `field` begins with the variable's name, which is replaced by the path of the variable's first use. */
function variablePath(error: GraphQLError, document: DocumentNode, variable: string): string | undefined {
  const field = error.extensions['field'];
  const within = (typeof field === 'string' ? field : variable)
    .replaceAll(/\[(\d+)\]/g, '.$1')
    .slice(variable.length);
  const path = findPath(document, (node) => node.kind === Kind.VARIABLE && node.name.value === variable);
  return path === undefined ? undefined : `${path}${within}`;
}

/** The path of the literal, or of the variable without a value, that the error points at. */
function literalPath(error: GraphQLError, document: DocumentNode): string | undefined {
  if (error.extensions['field'] !== undefined) return undefined;
  const culprits = new Set<ASTNode>(error.nodes);
  return findPath(document, (node) => culprits.has(node));
}

function findPath(document: DocumentNode, matches: (node: ValueNode) => boolean): string | undefined {
  for (const definition of document.definitions) {
    if (!('selectionSet' in definition)) continue;
    for (const { name, value } of argumentsIn(definition.selectionSet)) {
      const path = findInValue(value, name.value, matches);
      if (path !== undefined) return path;
    }
  }
  return undefined;
}

function* argumentsIn({ selections }: SelectionSetNode): Generator<ArgumentNode> {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) yield* selection.arguments ?? [];
    for (const directive of selection.directives ?? []) yield* directive.arguments ?? [];
    if ('selectionSet' in selection && selection.selectionSet) yield* argumentsIn(selection.selectionSet);
  }
}

function findInValue(
  node: ValueNode,
  path: string,
  matches: (node: ValueNode) => boolean,
): string | undefined {
  if (matches(node)) return path;
  const parts: readonly (readonly [string, ValueNode])[] =
    node.kind === Kind.OBJECT
      ? node.fields.map(({ name, value }) => [name.value, value] as const)
      : node.kind === Kind.LIST
        ? node.values.map((value, index) => [String(index), value] as const)
        : [];
  for (const [name, value] of parts) {
    const found = findInValue(value, `${path}.${name}`, matches);
    if (found !== undefined) return found;
  }
  return undefined;
}
