/**
 * One HTTP request and its answer, as all routes get them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { newContext, type TransportContext } from '../graphql/transportContext.ts';
import { COMMON_HEADERS, setHeaders, whenClosed } from './answers.ts';

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  requestId: string;
  /** The request id that the client has sent. */
  clientRequestId: string | undefined;
  remoteAddress: string;
  /**
   * Headers of every answer, as alternating names and values, which `prepare` sets. Set one by one, they cost
   * five times as much as in one piece with the others.
   */
  headers: readonly string[];
  /** Sets the headers and has the body compressed. Call it before the exchange is answered in another way. */
  prepare(): void;
}

/** The request id of a proxy or a client, when it is safe to print. */
const REQUEST_ID = /^[\w.:-]{1,64}$/;

export function exchangeOf(
  request: IncomingMessage,
  response: ServerResponse,
  { requestId, remoteAddress }: Pick<Exchange, 'requestId' | 'remoteAddress'>,
  compressAnswer: (request: IncomingMessage, response: ServerResponse) => void,
): Exchange {
  // The id is never the client's: two requests could share it, and a search of the log could be misled.
  const headers = ['x-request-id', requestId, ...COMMON_HEADERS];
  return {
    request,
    response,
    requestId,
    clientRequestId: clientRequestIdOf(request),
    remoteAddress,
    headers,
    prepare() {
      setHeaders(response, headers);
      compressAnswer(request, response);
    },
  };
}

function clientRequestIdOf(request: IncomingMessage): string | undefined {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
}

/** The context of an operation that is answered by this exchange. */
export function contextOf(exchange: Exchange, caller?: TransportContext['caller']): TransportContext {
  const { response, requestId, clientRequestId, remoteAddress } = exchange;
  const whenSent = (callback: () => void) => whenClosed(response, callback);
  return newContext({ requestId, clientRequestId, remoteAddress, transport: 'http', caller, whenSent });
}
