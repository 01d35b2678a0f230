/**
 * Asks proxies to hand the events of a stream on at once. nginx, as it is set up by default, keeps them until they fill some
 * kilobytes, which a quiet feed takes hours for.
 */
import type { Plugin } from 'graphql-yoga';
import { STREAM_TYPES } from '../server/streamTypes.ts';

export function useUnbufferedStreams(): Plugin {
  return {
    onResponse({ response }) {
      if (STREAM_TYPES.test(response.headers.get('content-type') ?? ''))
        response.headers.set('x-accel-buffering', 'no');
    },
  };
}
