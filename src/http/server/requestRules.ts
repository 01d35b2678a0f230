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
    onRequest: ({ request }) => {
      // yoga compares it as it is written: `Application/JSON`, and a space before the semicolon, it refuses, without saying why.
      if (isJson(request)) request.headers.set('content-type', 'application/json');
    },
    onRequestParse: ({ request, requestParser, setRequestParser }) => {
      if (request.method === 'POST' && !isJson(request)) {
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

function isJson({ headers }: Request): boolean {
  return JSON_TYPE.test(headers.get('content-type') ?? '');
}

function badRequest(status: number, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status } } });
}
