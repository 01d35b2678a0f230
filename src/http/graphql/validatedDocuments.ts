/**
 * The documents that have passed every check before, by their text. An HTTP request runs them without parsing
 * and validating them again.
 */
import type { DocumentNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { createDocumentCache } from './documentCache.ts';

export interface ValidatedDocuments {
  get(source: string): DocumentNode | undefined;
  plugin: Plugin;
}

/** A document's validity depends only on schema and settings, which don't change while the server runs. */
export function createValidatedDocuments(): ValidatedDocuments {
  const kept = createDocumentCache<DocumentNode>();
  return {
    get: (source) => kept.get(source),
    plugin: {
      onExecute: ({ args }) => {
        const source = args.document.loc?.source.body;
        if (source !== undefined && kept.get(source) !== args.document) kept.set(source, args.document);
      },
    },
  };
}
