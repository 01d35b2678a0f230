/**
 * The SDK's client of one node, with limits: the time and size of an answer, and the pause that the node
 * asked for.
 */
import { rpc } from '@stellar/stellar-sdk';
import { createPause } from '../../../lib/retryAfter.ts';

/** A page of 200 transactions with all their XDR is well below this. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

export interface ServerOptions {
  rpcUrl: string;
  requestTimeoutMs: number;
  /** Unix time; the machine's clock by default. */
  nowMs?: (() => number) | undefined;
}

export function openServer({ rpcUrl, requestTimeoutMs, nowMs = Date.now }: ServerOptions): rpc.Server {
  const server = new rpc.Server(rpcUrl, { allowHttp: rpcUrl.startsWith('http:') });
  const { defaults, interceptors } = server.httpClient;
  defaults.maxContentLength = MAX_ANSWER_BYTES;
  const pause = createPause(nowMs);

  interceptors.request.use((config) => {
    pause.requireOver();
    // The SDK drops its own `timeout` option, and axios' one covers idle time only: this one covers the whole
    // request.
    return Object.assign(config, { signal: AbortSignal.timeout(requestTimeoutMs) });
  });
  interceptors.response.use(
    (response) => response,
    (error: unknown) => {
      const answer = answerOf(error);
      if (answer) pause.note(answer);
      throw error;
    },
  );
  return server;
}

/** The response behind an error of axios, with the one header that is needed. */
function answerOf(error: unknown): Pick<Response, 'status' | 'headers'> | null {
  const { response } = (error ?? {}) as {
    response?: { status: number; headers: Readonly<Record<string, unknown>> };
  };
  if (!response) return null;
  const retryAfter = response.headers['retry-after'];
  const headers = new Headers(typeof retryAfter === 'string' ? { 'retry-after': retryAfter } : {});
  return { status: response.status, headers };
}
