/**
 * Accepts as GraphQL requests: JSON by POST, or parameters by GET, of limited complexity.
 *
 * POST takes application/json only, because browsers send other types across sites without a preflight request.
 * (yoga refuses mutations by GET and arrays of operations.)
 */
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { parseDocument } from '../documents/parseDocument.ts';

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
    onParse: ({ setParseFn }) => setParseFn(parseDocument),
  };
}

function badRequest(status: number, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status } } });
}
