/**
 * What of a document can be judged before it is validated: how many aliases and directives it has. (Its tokens
 * are limited by the parser, its depth, breadth and cost before execution.)
 */
import { visit } from 'graphql';
import type { DocumentNode } from 'graphql';
import { requireAtMost } from './tooLarge.ts';

/** For a page of look-ups by id in one request; more is one list's business. */
export const MAX_ALIASES = 50;
export const MAX_DIRECTIVES = 50;

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
