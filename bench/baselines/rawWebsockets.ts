/**
 * Raw websockets with ws: each posted text is sent unchanged to every open socket.
 *
 * Leaves out: subscriptions and their documents, tokens, filters, backpressure, and the events that a client
 * missed.
 */
import { WebSocketServer } from 'ws';
import { serveBaseline } from './baselineServer.ts';

const sockets = new WebSocketServer({ noServer: true });

const server = serveBaseline((request, response) => {
  let event = '';
  request.setEncoding('utf8');
  request.on('data', (part: string) => {
    event += part;
  });
  request.on('end', () => {
    for (const socket of sockets.clients) socket.send(event);
    response.end();
  });
});
server.on('upgrade', (request, socket, head) => sockets.handleUpgrade(request, socket, head, () => {}));
