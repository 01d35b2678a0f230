/**
 * Accepts as GraphQL requests: JSON by POST, or parameters by GET, of limited complexity.
 *
 * POST takes application/json only, because browsers send other types across sites without a preflight
 * request. (yoga refuses mutations by GET and arrays of operations.)
 */
import { isUtf8 } from 'node:buffer';
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { showValue } from '../../schema/core/showValue.ts';
import { ACCEPTED_ENCODING, encodingRefusal } from './contentEncoding.ts';

const JSON_TYPE = /^application\/json\s*(;|$)/i;

export function useRequestRules(): Plugin {
  return {
    onRequest: ({ request }) => {
      // yoga compares the type byte for byte: it refuses `Application/JSON` or a space before the semicolon
      // without saying why.
      if (isJson(request)) request.headers.set('content-type', 'application/json');
    },
    onRequestParse: ({ request, requestParser, setRequestParser }) => {
      if (request.method === 'POST' && !isJson(request)) {
        const sent = request.headers.get('content-type');
        throw badRequest(
          415,
          `A GraphQL request by POST must have the content type application/json, but has ${sent === null ? 'none' : showValue(sent)}.`,
        );
      }
      const refusal =
        request.method === 'POST' ? encodingRefusal(request.headers.get('content-encoding')) : null;
      if (refusal !== null) throw badRequest(415, refusal, ACCEPTED_ENCODING);
      if (requestParser === undefined) return;
      if (request.method === 'POST') setRequestParser((post) => requestParser(inUtf8(post)));
      if (request.method === 'GET') setRequestParser((get) => requireJson(() => requestParser(get)));
    },
  };
}

async function requireJson<T>(parse: () => T | Promise<T>): Promise<T> {
  try {
    return await parse();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw badRequest(400, 'The parameters "variables" and "extensions" must be JSON objects.');
  }
}

/**
 * The same request, with a body that must be UTF-8. Otherwise invalid bytes would become replacement
 * characters, permanently so in a name that is written to the network.
 */
function inUtf8(request: Request): Request {
  const json = async (): Promise<unknown> => {
    const bytes = Buffer.from(await request.arrayBuffer());
    if (isUtf8(bytes)) return JSON.parse(bytes.toString());
    throw badRequest(400, 'The body must be JSON in UTF-8, and has bytes that are not.');
  };
  return Object.assign(request, { json });
}

function isJson({ headers }: Request): boolean {
  return JSON_TYPE.test(headers.get('content-type') ?? '');
}

function badRequest(status: number, message: string, headers: Record<string, string> = {}): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status, headers } } });
}
