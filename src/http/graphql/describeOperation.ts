/**
 * Describes documents and variables for the log, without secret or personal data.
 *
 * Only values whose names are declared are shown; every other value is replaced by its type or size.
 */
import { OperationTypeNode, print, visit, type DocumentNode, type GraphQLSchema } from 'graphql';
import { recordedInputOf } from '../../schema/core/recordedInput.ts';

/**
 * Inputs of queries and subscriptions that may be shown: sizes, places in lists, public addresses, ids and
 * kinds.
 */
const SHOWN_OF_READING: ReadonlySet<string> = new Set([
  'first',
  'last',
  'after',
  'before',
  'id',
  'buyerId',
  'farmerId',
  'warehouseId',
  'tokenAddress',
  'receiptTokenAddress',
  'tokenAmount',
  'vintageYear',
  'countryCode',
  'fiatCurrency',
  'creditType',
  'projectType',
  'state',
]);
/** A valid name of an input field; any other key may be a misplaced value. */
const NAME = /^[a-zA-Z]\w{0,63}$/;
const MAX_QUERY_CHARACTERS = 2_000;
const MAX_TEXT_CHARACTERS = 128;
const MAX_DEPTH = 4;
const MAX_ENTRIES = 30;

/** The document without its literal values. */
export function describeDocument(document: DocumentNode): string {
  const bare = visit(document, {
    StringValue: (node) => ({ ...node, value: '…', block: false }),
    IntValue: (node) => ({ ...node, value: '0' }),
    FloatValue: (node) => ({ ...node, value: '0' }),
  });
  return print(bare).replaceAll(/\s+/g, ' ').slice(0, MAX_QUERY_CHARACTERS);
}

/**
 * Names of variables and their members whose values the log may show: for mutations, the names that all
 * requested mutations declare (recordedInput).
 */
export function shownNames(
  schema: GraphQLSchema,
  operation: OperationTypeNode,
  rootFields: readonly string[],
): ReadonlySet<string> {
  if (operation !== OperationTypeNode.MUTATION) return SHOWN_OF_READING;
  const mutations = schema.getMutationType()?.getFields() ?? {};
  const [first = [], ...others] = rootFields.flatMap((name) => {
    const field = mutations[name];
    if (field === undefined) return [];
    const { targets = [], shown = [] } = recordedInputOf(field);
    return [[...targets, ...shown]];
  });
  return new Set(first.filter((name) => others.every((names) => names.includes(name))));
}

/** The variables: names, and values of those that may be shown. */
export function describeVariables(variables: unknown, shown: ReadonlySet<string>): unknown {
  return describe(variables, '', 0, shown);
}

function describe(value: unknown, name: string, depth: number, shown: ReadonlySet<string>): unknown {
  if (value === null || value === undefined || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return `[list of ${value.length}]`;
  if (typeof value === 'object') {
    if (depth >= MAX_DEPTH) return '[object]';
    const entries = Object.entries(value).slice(0, MAX_ENTRIES);
    return Object.fromEntries(
      entries.map(([key, inner]) => [
        NAME.test(key) ? key : '[name]',
        describe(inner, key, depth + 1, shown),
      ]),
    );
  }
  if (typeof value === 'string') {
    return shown.has(name) && value.length <= MAX_TEXT_CHARACTERS ? value : `[text of ${value.length}]`;
  }
  return shown.has(name) ? value : `[${typeof value}]`;
}
