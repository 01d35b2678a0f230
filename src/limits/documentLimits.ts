/**
 * Limits on variables, and on a document before validation: its lines, its aliases, its directives, and how
 * often it selects the same name. (The parser limits its tokens; its depth, breadth and cost are limited
 * before execution.)
 */
import { visit, type DocumentNode } from 'graphql';
import { requireAtMost } from './tooLarge.ts';

/** Enough for a page of look-ups by id; for more, clients use a list. */
const MAX_ALIASES = 50;
const MAX_DIRECTIVES = 50;
/**
 * Validation compares each pair of selections of a name, which may be the same field of an object: 480
 * selections of one name take a tenth of a second. Two hundred of one name, such as `id`, are accepted.
 */
const MAX_EQUAL_PAIRS = 200 ** 2;
/**
 * As many as tokens. Each error counts the lines before each field that it names: with forty thousand empty
 * lines, the hundred errors of a document take half a second.
 */
const MAX_LINES = 2_000;

/** Call it before the document is parsed. @throws DomainError OPERATION_TOO_LARGE */
export function requireTextWithinLimits(text: string): void {
  requireAtMost(MAX_LINES, 'LINES', text.split(/\r\n|[\n\r]/).length);
}

/**
 * Maximum values in variables; the longest lists of a filter have a hundred. Each value is checked by its
 * scalar, more than once, before its list is measured.
 */
const MAX_VALUES = 2_000;

/** Call it before the variables are read. @throws DomainError OPERATION_TOO_LARGE */
export function requireVariablesWithinLimits(variables: unknown): void {
  const unread = [variables];
  let values = 0;
  // No recursion, because the values may be nested as deep as a body is long.
  for (let value = unread.pop(); value !== undefined; value = unread.pop()) {
    values += 1;
    if (typeof value === 'object' && value !== null) unread.push(...Object.values(value));
    requireAtMost(MAX_VALUES, 'VARIABLE_VALUES', values + unread.length);
  }
}

/** @throws DomainError OPERATION_TOO_LARGE */
export function requireDocumentWithinLimits(document: DocumentNode): void {
  let aliases = 0;
  let directives = 0;
  const selected = new Map<string, number>();
  visit(document, {
    Field: ({ alias, name }) => {
      if (alias !== undefined) aliases += 1;
      const shown = (alias ?? name).value;
      selected.set(shown, (selected.get(shown) ?? 0) + 1);
    },
    Directive: () => {
      directives += 1;
    },
  });
  requireAtMost(MAX_ALIASES, 'ALIASES', aliases);
  requireAtMost(MAX_DIRECTIVES, 'DIRECTIVES', directives);
  let pairs = 0;
  for (const times of selected.values()) pairs += times ** 2;
  requireAtMost(MAX_EQUAL_PAIRS, 'EQUAL_FIELD_PAIRS', pairs);
}
