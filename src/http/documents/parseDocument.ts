/**
 * The parser of every document that comes from outside.
 */
import { parse, type DocumentNode } from 'graphql';
import { requireDocumentWithinLimits, requireTextWithinLimits } from '../../limits/documentLimits.ts';

/** Several times the largest real document; the time of validation grows quadratically. */
const MAX_DOCUMENT_TOKENS = 2_000;

/** @throws GraphQLError for a syntax error, or too many tokens; DomainError OPERATION_TOO_LARGE */
export function parseDocument(text: string): DocumentNode {
  requireTextWithinLimits(text);
  const document = parse(text, { maxTokens: MAX_DOCUMENT_TOKENS });
  requireDocumentWithinLimits(document);
  return document;
}
