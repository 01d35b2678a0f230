/**
 * The parser of every document that comes from outside.
 */
import { parse, type DocumentNode, type ParseOptions, type Source } from 'graphql';
import { requireDocumentWithinLimits, requireTextWithinLimits } from '../../limits/documentLimits.ts';

/** Several times the largest real document; the time of validation grows quadratically. */
const MAX_DOCUMENT_TOKENS = 2_000;

/** @throws GraphQLError for a syntax error, or too many tokens; DomainError OPERATION_TOO_LARGE */
export function parseDocument(source: string | Source, options?: ParseOptions): DocumentNode {
  requireTextWithinLimits(typeof source === 'string' ? source : source.body);
  const document = parse(source, { ...options, maxTokens: MAX_DOCUMENT_TOKENS });
  requireDocumentWithinLimits(document);
  return document;
}
