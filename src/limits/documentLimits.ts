/**
 * Limits on a document before validation: its number of aliases and directives. (The parser limits its tokens; its
 * depth, breadth and cost are limited before execution.)
 */
import { visit } from 'graphql';
import type { DocumentNode } from 'graphql';
import { requireAtMost } from './tooLarge.ts';

/** Enough for a page of look-ups by id; for more, clients use a list. */
const MAX_ALIASES = 50;
const MAX_DIRECTIVES = 50;

/** @throws DomainError OPERATION_TOO_LARGE */
export function requireModestDocument(document: DocumentNode): void {
  let aliases = 0;
  let directives = 0;
  visit(document, {
    Field: ({ alias }) => {
      if (alias !== undefined) aliases += 1;
    },
    Directive: () => {
      directives += 1;
    },
  });
  requireAtMost(MAX_ALIASES, 'number of aliases', aliases);
  requireAtMost(MAX_DIRECTIVES, 'number of directives', directives);
}
