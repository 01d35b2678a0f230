/**
 * Parses and validates documents, for all transports. Clients repeat their documents, so each text is checked
 * once: whether it may run depends only on schema and settings, which don't change while the server runs.
 */
import {
  GraphQLError,
  NoSchemaIntrospectionCustomRule,
  specifiedRules,
  validate,
  type DocumentNode,
  type GraphQLSchema,
} from 'graphql';
import { withoutStack } from '../../lib/withoutStack.ts';
import { ERROR_MS, stopwatch, type ChargeCpu } from '../graphql/chargeCpu.ts';
import { createDocumentCache } from './documentCache.ts';
import { toClientError } from '../graphql/errors.ts';
import { placeInput } from '../graphql/inputPaths.ts';
import type { DocumentSource, NamedDocument } from './documentSource.ts';
import { parseDocument } from './parseDocument.ts';

interface CheckedDocument {
  document: DocumentNode;
  /** All that is wrong with it; empty when it may run. */
  problems: readonly GraphQLError[];
}

export interface CheckedDocuments {
  /** A document that has passed every check before, and runs without another one. */
  get(text: string): DocumentNode | undefined;
  /** Whether the text needs no parsing. */
  isKnown(text: string): boolean;
  /** @throws GraphQLError for a text that can't be parsed, DomainError OPERATION_TOO_LARGE */
  check(document: NamedDocument, remoteAddress: string): CheckedDocument;
}

export function createCheckedDocuments(options: {
  schema: GraphQLSchema;
  /** Without introspection, errors suggest no names either, because suggestions would disclose the schema. */
  introspection: boolean;
  source: Pick<DocumentSource, 'keep'>;
  chargeCpu: ChargeCpu;
}): CheckedDocuments {
  const { schema, introspection, source, chargeCpu } = options;
  const rules = introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  const accepted = createDocumentCache<CheckedDocument>();
  /** Kept apart, so that refused documents can't evict documents that clients use. */
  const refused = createDocumentCache<CheckedDocument | Error>((refusal) =>
    refusal instanceof Error ? 1 : refusal.problems.length,
  );
  const knownOf = (text: string) => accepted.get(text) ?? refused.get(text);
  const checkAnew = (text: string): CheckedDocument => {
    const document = parseDocument(text);
    const problems = problemsWithinStack(() =>
      validate(schema, document, rules, { hideSuggestions: !introspection }),
    );
    return { document, problems: withoutStack(() => problems.map((problem) => shown(problem, document))) };
  };
  const checkOnce = (text: string): CheckedDocument => {
    const known = knownOf(text);
    if (known instanceof Error) throw known;
    if (known !== undefined) return known;
    try {
      const checked = checkAnew(text);
      (checked.problems.length === 0 ? accepted : refused).set(text, checked);
      return checked;
    } catch (error) {
      refused.set(text, error as Error);
      throw error;
    }
  };
  return {
    get: (text) => accepted.get(text)?.document,
    isKnown: (text) => knownOf(text) !== undefined,
    check({ text, hash }, remoteAddress) {
      // A client can make the checks long, and others wait meanwhile: they block the event loop.
      const elapsed = stopwatch();
      let errors = 0;
      try {
        const checked = checkOnce(text);
        errors = checked.problems.length;
        if (errors === 0 && hash !== undefined) source.keep(hash, text);
        return checked;
      } finally {
        chargeCpu(remoteAddress, elapsed() + errors * ERROR_MS);
      }
    },
  };
}

function shown(problem: GraphQLError, document: DocumentNode): GraphQLError {
  problem.extensions['code'] ??= 'GRAPHQL_VALIDATION_FAILED';
  return placeInput(toClientError(problem), document);
}

/** One rule of graphql-js overflows the stack on mutual fragment spreads before another rule refuses them. */
function problemsWithinStack(find: () => readonly GraphQLError[]): readonly GraphQLError[] {
  try {
    return withoutStack(find);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [new GraphQLError('Its fragments spread each other too deeply to be validated.')];
  }
}
