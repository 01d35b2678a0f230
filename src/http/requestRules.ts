/**
 * What is taken as a GraphQL request at all: JSON by POST, or parameters by GET, of limited complexity.
 *
 * Nothing but application/json is read by POST, because browsers send other types across sites without
 * asking. (Mutations by GET and arrays of operations are refused by yoga itself.)
 */
import { GraphQLError, parse } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/** Several times the largest real document; validation slows down quadratically in what it is given. */
const MAX_DOCUMENT_TOKENS = 2_000;

const JSON_TYPE = /^application\/json\s*(;|$)/i;

export function useRequestRules(): Plugin {
  return {
    onRequestParse: ({ request, requestParser, setRequestParser }) => {
      if (request.method === 'POST' && !JSON_TYPE.test(request.headers.get('content-type') ?? '')) {
        throw badRequest(415, 'A GraphQL request by POST must have the content type application/json.');
      }
      if (request.method !== 'GET' || requestParser === undefined) return;
      setRequestParser(async (get) => {
        try {
          return await requestParser(get);
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
          throw badRequest(400, 'The parameters "variables" and "extensions" must be JSON objects.');
        }
      });
    },
    onParse: ({ setParseFn }) => {
      setParseFn((source, options) => parse(source, { ...options, maxTokens: MAX_DOCUMENT_TOKENS }));
    },
  };
}

function badRequest(status: number, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status } } });
}
