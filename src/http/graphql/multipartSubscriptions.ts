/**
 * Apollo's multipart subscription protocol, for clients that ask for `multipart/mixed;subscriptionSpec=1.0`:
 * one part for each event, and empty parts as heartbeats. Operations, limits and ends are the same as over
 * SSE.
 *
 * https://www.apollographql.com/docs/graphos/routing/operations/subscriptions/multipart-protocol
 */
import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { TransportContext } from './transportContext.ts';
import { toWireError } from './errors.ts';

/** Well under the 60 s after which proxies drop silent connections. */
const HEARTBEAT_MS = 12_000;
const HEARTBEAT = '{}';

const BOUNDARY = 'graphql';
const DELIMITER = `\r\n--${BOUNDARY}`;
const MEDIA_TYPE = 'multipart/mixed';
const CONTENT_TYPE = `${MEDIA_TYPE};boundary="${BOUNDARY}";subscriptionSpec=1.0`;

type Result = ExecutionResult | AsyncIterable<ExecutionResult>;

export function useMultipartSubscriptions(): Plugin<object, TransportContext> {
  return {
    onResultProcess({ request, result, resultProcessor, setResultProcessor }) {
      const isStream = Symbol.asyncIterator in result;
      if (!isAskedFor(request.headers.get('accept')) || !(isStream || resultProcessor === undefined)) return;
      setResultProcessor(
        (events, fetchAPI) =>
          new fetchAPI.Response(streamOf(events as Result), { headers: { 'content-type': CONTENT_TYPE } }),
        MEDIA_TYPE,
      );
    },
  };
}

/**
 * Whether it asks as `multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json` does, with or
 * without quotes.
 */
function isAskedFor(accept: string | null): boolean {
  return (accept ?? '')
    .toLowerCase()
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim().replaceAll('"', '')))
    .some(([type, ...parameters]) => type === MEDIA_TYPE && parameters.includes('subscriptionspec=1.0'));
}

/** The next event is pulled when the previous one has left, so a slow reader holds one event. */
function streamOf(result: Result): ReadableStream<Uint8Array> {
  const iterator = iteratorOf(result);
  const encoder = new TextEncoder();
  let heartbeat: NodeJS.Timeout | undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      // The first heartbeat gives the client an answer before the first event.
      controller.enqueue(encoder.encode(DELIMITER + part(HEARTBEAT)));
    },
    async pull(controller) {
      // Heartbeats begin with the first read: nothing would end those of a client that never reads.
      heartbeat ??= setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(part(HEARTBEAT)));
      }, HEARTBEAT_MS).unref();
      const { done, value } = await iterator.next().catch((error: unknown) => {
        clearInterval(heartbeat);
        throw error;
      });
      if (done !== true) {
        controller.enqueue(encoder.encode(part(JSON.stringify({ payload: payloadOf(value) }))));
        return;
      }
      clearInterval(heartbeat);
      controller.enqueue(encoder.encode('--\r\n'));
      controller.close();
    },
    async cancel() {
      clearInterval(heartbeat);
      await iterator.return?.();
    },
  });
}

/** The events of a subscription; a refusal becomes the only event. */
function iteratorOf(result: Result): AsyncIterator<ExecutionResult> {
  if (Symbol.asyncIterator in result) return result[Symbol.asyncIterator]();
  return (async function* only() {
    yield result;
  })();
}

/** Clients take a part as complete when the delimiter of the next part is there. */
function part(json: string): string {
  return `\r\ncontent-type: application/json\r\n\r\n${json}${DELIMITER}`;
}

function payloadOf({ errors, ...result }: ExecutionResult): object {
  return errors === undefined ? result : { ...result, errors: errors.map(toWireError) };
}
