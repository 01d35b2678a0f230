/**
 * Asks proxies to hand the events of a stream on at once. nginx, as it is set up by default, keeps them until they fill some
 * kilobytes, which a quiet feed takes hours for.
 */
import type { Plugin } from 'graphql-yoga';

/** The media types of answers that go on for as long as their client listens. */
export const STREAM_TYPES = /^(text\/event-stream|multipart\/mixed)/;

export function useUnbufferedStreams(): Plugin {
  return {
    onResponse({ response }) {
      if (STREAM_TYPES.test(response.headers.get('content-type') ?? ''))
        response.headers.set('x-accel-buffering', 'no');
    },
  };
}
