/**
 * The shared code of the baselines: a port from the environment, a readiness response, and the body of a
 * request.
 */
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { createServer } from 'node:http';

const READY_PATH = '/readyz';

export function serveBaseline(answer: RequestListener): Server {
  const server = createServer((request, response) => {
    if (request.url === READY_PATH) response.end('ready');
    else answer(request, response);
  });
  server.listen(Number(process.env['PORT']), '127.0.0.1');
  process.on('SIGTERM', () => process.exit(0));
  return server;
}

export function readJson(request: IncomingMessage, onBody: (body: unknown) => void | Promise<void>): void {
  let text = '';
  request.setEncoding('utf8');
  request.on('data', (part: string) => {
    text += part;
  });
  request.on('end', () => void onBody(JSON.parse(text)));
}
