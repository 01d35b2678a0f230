/**
 * The answer to a client that accepts none of the forms in which an answer can be sent. (yoga answers 406
 * without a body, and leaves a subscription open that is never read.)
 */
import type { Plugin } from 'graphql-yoga';
import { DomainError } from '../../lib/errors.ts';
import { toClientError, toWireError } from './errors.ts';

const OF_STREAMS = 'text/event-stream, or multipart/mixed;subscriptionSpec=1.0';
const OF_RESULTS = 'application/graphql-response+json, or application/json';

/** Place it after all plugins that know a form. */
export function useNotAcceptable(): Plugin {
  return {
    onResultProcess({ result, resultProcessor, setResultProcessor }) {
      if (resultProcessor !== undefined) return;
      const isStream = Symbol.asyncIterator in result;
      const message = `The answer can't be sent in a form that "Accept" names. ${
        isStream ? `A subscription is sent as ${OF_STREAMS}` : `It is sent as ${OF_RESULTS}`
      }.`;
      const body = JSON.stringify({
        errors: [toWireError(toClientError(new DomainError('BAD_REQUEST', message)))],
      });
      setResultProcessor(async (unsent, fetchAPI) => {
        if (Symbol.asyncIterator in unsent) await unsent[Symbol.asyncIterator]().return?.();
        const headers = { 'content-type': 'application/json; charset=utf-8' };
        return new fetchAPI.Response(body, { status: 406, headers });
      }, 'application/json');
    },
  };
}
