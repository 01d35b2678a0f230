/**
 * Opens sockets and event streams with a credential, and observes how they end.
 */
import { WebSocket } from 'ws';
import { until } from './httpServer.ts';

/** Opens a socket that the server acknowledges. `ended` is its close code and reason. */
export async function openSocket(url: string, bearer: string) {
  const socket = new WebSocket(url.replace('http', 'ws'), 'graphql-transport-ws');
  const ended = new Promise<string>((resolve) => {
    socket.once('close', (code, reason) => resolve(`${code} ${reason.toString()}`));
  });
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${bearer}` } }));
  await new Promise((resolve) => socket.once('message', resolve));
  return { ended, isOpen: () => socket.readyState === socket.OPEN, close: () => socket.close() };
}

/** Opens a stream that has begun. `ended` is its last event. */
export async function openStream(url: string, bearer: string, query: string) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      authorization: `Bearer ${bearer}`,
    },
    body: JSON.stringify({ query }),
  });
  let text = '';
  const reading = (async () => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk as Uint8Array).toString();
    return /event: (\w+)\s+data:\s*$/.exec(text)?.[1] ?? text;
  })();
  await until(() => text !== '');
  return { ended: reading };
}
