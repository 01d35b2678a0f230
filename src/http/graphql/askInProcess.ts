/**
 * Runs operations of the server's own pages: documents that are part of the program, as the public, with the
 * guard, error table and log of clients' operations. Settings for clients' documents and introspection do not
 * apply.
 */
import { parse, validate, type DocumentNode, type ExecutionResult, type GraphQLSchema } from 'graphql';
import type { DirectOperation } from './directPost.ts';
import type { TransportContext } from './transportContext.ts';

export type AskInProcess = (
  source: string,
  variables: Record<string, unknown>,
  context: TransportContext,
) => Promise<ExecutionResult>;

export function createAsk(
  schema: GraphQLSchema,
  execute: (operation: DirectOperation, context: TransportContext) => Promise<ExecutionResult>,
): AskInProcess {
  /** Unbounded: the program has a fixed number of documents. */
  const known = new Map<string, DocumentNode>();
  const documentOf = (source: string) => {
    const document = known.get(source) ?? parse(source);
    if (!known.has(source)) {
      const [problem] = validate(schema, document);
      if (problem !== undefined) throw problem;
      known.set(source, document);
    }
    return document;
  };
  return async (source, variables, context) =>
    execute({ document: documentOf(source), operationName: undefined, variables }, context);
}
