/**
 * A client of the public API, as an application would write one: GraphQL over HTTP and over a websocket.
 */
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { StartupError } from '../src/lib/startupErrors.ts';

export interface ApiClient {
  /** @throws with the message and the code of the API's error */
  send<T>(query: string, variables: Record<string, unknown>, token: string | null): Promise<T>;
  /** Calls `onEvent` for each event. @returns a function that ends the subscription */
  follow<T>(query: string, variables: Record<string, unknown>, onEvent: (data: T) => void): () => void;
  close(): Promise<void>;
}

/** Longer than the longest MUTATION_WAIT_MS of a server. */
const REQUEST_TIMEOUT_MS = 150_000;

interface GraphqlAnswer<T> {
  data?: T | null;
  errors?: { message: string; extensions?: { code?: string } }[];
}

export function createApiClient(url: string): ApiClient {
  const socket = createClient({
    url: url.replace(/^http/, 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 5,
  });
  return {
    async send<T>(query: string, variables: Record<string, unknown>, token: string | null) {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/graphql-response+json',
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({ query, variables }),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      const { data, errors } = (await response.json()) as GraphqlAnswer<T>;
      const [error] = errors ?? [];
      if (error || !data) {
        throw new StartupError(
          `${error?.extensions?.code ?? response.status}: ${error?.message ?? 'no data'}`,
        );
      }
      return data;
    },
    follow<T>(query: string, variables: Record<string, unknown>, onEvent: (data: T) => void) {
      return socket.subscribe<T>(
        { query, variables },
        {
          next: ({ data }) => {
            if (data) onEvent(data);
          },
          error: (error) => process.stderr.write(`live feed: ${String(error)}\n`),
          complete: () => undefined,
        },
      );
    },
    close: async () => socket.dispose(),
  };
}
