/**
 * Sends one operation over any of the three transports and returns the reply in one shape, so that a test can
 * expect the same of all transports.
 */
import { WebSocket } from 'ws';

export const TRANSPORTS = ['http', 'sse', 'websocket'] as const;
export type Transport = (typeof TRANSPORTS)[number];

export interface Question {
  query: string;
  variables?: unknown;
  operationName?: string;
  /** A token or an API key. */
  bearer?: string | null;
  /** For requests that may never be answered: the reply is what arrived within this time. */
  patienceMs?: number;
}

interface WireError {
  message: string;
  path?: (string | number)[];
  extensions: Record<string, unknown> & { code: string };
}

interface Reply {
  /** HTTP status; null over a websocket. */
  status: number | null;
  headers: Headers | null;
  data: Record<string, unknown> | null;
  errors: WireError[];
  extensions: Record<string, unknown>;
  /** The code that a websocket was closed with, if the server closed it. */
  closeCode: number | null;
  closeReason: string;
  /** The whole received text, for searching. */
  text: string;
}

/** Sends the operation; ends a subscription after its first event. @param url of /graphql */
export function askOver(transport: Transport, url: string, question: Question): Promise<Reply> {
  if (transport === 'websocket') return askSocket(url, question);
  return askHttp(
    url,
    question,
    transport === 'sse' ? 'text/event-stream' : 'application/graphql-response+json',
  );
}

export function codesOf(reply: Reply): string[] {
  return reply.errors.map((error) => error.extensions.code);
}

async function askHttp(url: string, question: Question, accept: string): Promise<Reply> {
  const { bearer, patienceMs, ...body } = question;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, ...authorization(bearer) },
    body: JSON.stringify(body),
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = isStream ? await firstEvent(response, patienceMs) : await response.text();
  return {
    ...parts(text),
    status: response.status,
    headers: response.headers,
    closeCode: null,
    closeReason: '',
    text,
  };
}

/** Returns the data of a stream's first event; empty when there was none. */
async function firstEvent(response: Response, patienceMs: number | undefined): Promise<string> {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  const timer = patienceMs === undefined ? undefined : setTimeout(() => void reader.cancel(), patienceMs);
  const decoder = new TextDecoder();
  let received = '';
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      received += decoder.decode(part.value, { stream: true });
      const data = /^data: (.+)\n\n/m.exec(received)?.[1];
      if (data !== undefined) return data;
    }
    return '';
  } finally {
    clearTimeout(timer);
    await reader.cancel();
  }
}

function askSocket(url: string, { bearer, patienceMs, ...payload }: Question): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url.replace(/^http/, 'ws'), 'graphql-transport-ws');
    let text = '';
    let closed: { code: number; reason: string } | null = null;
    const answer = () => {
      clearTimeout(timer);
      resolve({
        ...parts(text),
        status: null,
        headers: null,
        closeCode: closed?.code ?? null,
        closeReason: closed?.reason ?? '',
        text,
      });
      socket.close();
    };
    const timer = patienceMs === undefined ? undefined : setTimeout(() => answer(), patienceMs);
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'connection_init', payload: authorization(bearer) })),
    );
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { type: string; payload?: unknown };
      if (message.type === 'connection_ack') {
        socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload }));
        return;
      }
      if (message.type === 'next') text = JSON.stringify(message.payload);
      if (message.type === 'error') text = JSON.stringify({ errors: message.payload });
      if (['next', 'error', 'complete'].includes(message.type)) answer();
    });
    socket.on('close', (code, reason) => {
      closed = { code, reason: reason.toString() };
      answer();
    });
    socket.on('error', reject);
  });
}

function authorization(bearer: string | null | undefined): Record<string, string> {
  return bearer == null ? {} : { authorization: `Bearer ${bearer}` };
}

function parts(text: string): Pick<Reply, 'data' | 'errors' | 'extensions'> {
  const body = (text === '' ? {} : JSON.parse(text)) as Partial<Reply>;
  return { data: body.data ?? null, errors: body.errors ?? [], extensions: body.extensions ?? {} };
}
