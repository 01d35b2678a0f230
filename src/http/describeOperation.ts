/**
 * Documents and variables for the log: what was asked, without what could be secret or somebody's.
 *
 * What may be shown is listed, everything else is replaced by what it is: a field that is added later stays out
 * of the log until somebody decides otherwise.
 */
import { print, visit } from 'graphql';
import type { DocumentNode } from 'graphql';

/** Sizes, places in lists, public addresses and ids: nobody's name, account or words. */
const SHOWN = new Set([
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
  'holder',
  'sessionId',
  'submissionId',
  'idempotencyKey',
  'amountCO2e',
  'quantityCO2e',
  'quantityKg',
  'tokenAmount',
  'vintageYear',
  'countryCode',
  'fiatCurrency',
  'creditType',
  'projectType',
  'commodityType',
  'state',
  'decision',
]);
/** What a field of an input can be called; anything else may be a value in the wrong place. */
const NAME = /^[a-zA-Z]\w{0,63}$/;
const MAX_QUERY_CHARACTERS = 2_000;
const MAX_TEXT_CHARACTERS = 128;
const MAX_DEPTH = 4;
const MAX_ENTRIES = 30;

/** The document without the values that are written into it. */
export function describeDocument(document: DocumentNode): string {
  const bare = visit(document, {
    StringValue: (node) => ({ ...node, value: '…', block: false }),
    IntValue: (node) => ({ ...node, value: '0' }),
    FloatValue: (node) => ({ ...node, value: '0' }),
  });
  return print(bare).replaceAll(/\s+/g, ' ').slice(0, MAX_QUERY_CHARACTERS);
}

/** The variables: names, and values of those that may be shown. */
export function describeVariables(variables: unknown): unknown {
  return describe(variables, '', 0);
}

function describe(value: unknown, name: string, depth: number): unknown {
  if (value === null || value === undefined || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return `[list of ${value.length}]`;
  if (typeof value === 'object') {
    if (depth >= MAX_DEPTH) return '[object]';
    const entries = Object.entries(value).slice(0, MAX_ENTRIES);
    return Object.fromEntries(
      entries.map(([key, inner]) => [NAME.test(key) ? key : '[name]', describe(inner, key, depth + 1)]),
    );
  }
  if (typeof value === 'string') {
    return SHOWN.has(name) && value.length <= MAX_TEXT_CHARACTERS ? value : `[text of ${value.length}]`;
  }
  return SHOWN.has(name) ? value : `[${typeof value}]`;
}
