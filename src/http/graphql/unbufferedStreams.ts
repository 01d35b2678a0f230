/**
 * Asks proxies to pass on the events of a stream at once. By default, nginx keeps events until they fill some
 * kilobytes, which takes hours in a quiet feed.
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
