/**
 * graphql-transport-ws over ws, run through the same pipeline as HTTP.
 *
 *   upgrade ─▶ connection_init { authorization? } ─▶ acknowledged ─▶ operations … ─▶ closed
 *          │          └─ bad credential: 4403           └─ it expired or was revoked: 4403
 *          └─ silent for too long: 4408
 *
 * A subscription's next event is pulled when the previous one was flushed to the socket: sentEvents.ts waits
 * until the bytes have left the process. A client that stops reading therefore holds one event per
 * subscription, and stalledSockets.ts ends its connection.
 *
 * The loop of `graphql-ws/use/ws` is not used: it hands every message on, so a socket would have no budget of
 * messages and no order among reused ids, and it writes defects to the console and their texts to clients.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { CloseCode, handleProtocols } from 'graphql-ws';
import { WebSocketServer, type WebSocket } from 'ws';
import { DomainError } from '../../lib/errors.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { createCounters } from '../../limits/counters.ts';
import type { Limits } from '../../limits/limits.ts';
import type { ErrorLog } from '../graphql/maskErrors.ts';
import { closeReason } from './closeReason.ts';
import { separateReusedIds } from './reusedIds.ts';
import { createMessageLimit, type AdmitMessage } from './messageLimit.ts';
import { createProtocol, type Peer, type Protocol, type ProtocolOptions } from './protocol.ts';
import { refuseForNow } from '../server/refuseUpgrade.ts';
import { createSender, keepAlive, limitUnread } from '../server/socketIo.ts';

/** Documents and variables are smaller; results go the other way. */
const MAX_MESSAGE_BYTES = 64 * 1024;
/**
 * Fragments of 1 kB make the longest message. messageLimit.ts does not count fragments, and reading one costs
 * as much as a short message. A fragment that waits for the rest can hold 64 kB that arrived with it.
 */
const MAX_MESSAGE_FRAGMENTS = 64;
/** Sockets of the same address may close soon. */
const RETRY_SOCKET_SECONDS = 10;

const INVALID_BYTES = 1007;
const GOING_AWAY = 1001;

interface WebsocketOptions extends ProtocolOptions {
  limits: Limits;
  remoteAddressOf: (request: IncomingMessage) => string;
}

interface WebsocketServer {
  /** Takes a connection whose path and origin are checked. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Closes every socket with 1001; resolves when all are closed, or after `graceMs`. */
  close(graceMs: number): Promise<void>;
  openSockets(): number;
}

export function createWebsocketServer(options: WebsocketOptions): WebsocketServer {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    maxFragments: MAX_MESSAGE_FRAGMENTS,
    handleProtocols,
    // Handles one message of each socket per turn of the event loop, so that other sockets need not wait for
    // all of them.
    allowSynchronousEvents: false,
  });
  const protocol = createProtocol(options);
  const open = createCounters(options.limits.MAX_CONNECTIONS, options.limits.MAX_SOCKETS_PER_ADDRESS);
  const limitMessages = createMessageLimit(options.limits, () => performance.now());
  const accept = (socket: WebSocket, request: IncomingMessage, remoteAddress: string) => {
    const about = { socket, remoteAddress, upgradeAuthorization: request.headers.authorization };
    const admitMessage = limitMessages(socket, request.socket, addressKey(remoteAddress));
    serve(about, { connection: request.socket, protocol, admitMessage, log: options.log });
  };
  const admit = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const remoteAddress = options.remoteAddressOf(request);
    const close = open.open(addressKey(remoteAddress));
    if (close === null) {
      refuseForNow(socket, RETRY_SOCKET_SECONDS);
      return;
    }
    socket.once('close', close);
    await options.pipeline.gate.admitAddress(remoteAddress, []);
    sockets.handleUpgrade(request, socket, head, (opened) => accept(opened, request, remoteAddress));
  };
  return {
    upgrade: (request, socket, head) => {
      admit(request, socket, head).catch((error: unknown) => {
        refuseForNow(socket, retryAfterOf(error));
      });
    },
    close: (graceMs) => closeAll(sockets, graceMs),
    openSockets: () => open.total,
  };
}

interface Served {
  /** Kept without the request, whose headers would otherwise stay as long as the socket is open. */
  connection: Socket;
  protocol: Protocol;
  admitMessage: AdmitMessage;
  log: ErrorLog;
}

/** Connects one websocket to the protocol. */
function serve(
  about: Pick<Peer, 'socket' | 'remoteAddress' | 'upgradeAuthorization'>,
  { connection, protocol, admitMessage, log }: Served,
): void {
  const { socket, remoteAddress } = about;
  const fail = (error: unknown) => {
    log.error({ err: error, remoteAddress }, 'a websocket failed because of a defect');
    socket.close(CloseCode.InternalServerError, 'Internal error');
  };
  const work = (handle: (message: string) => Promise<void>, data: Buffer) => {
    peer.messagesInWork += 1;
    handle(data.toString())
      .catch(fail)
      .finally(() => {
        peer.messagesInWork -= 1;
      });
  };
  const stopPings = keepAlive(socket);
  const sender = createSender(socket, connection, (code, reason) => {
    stopPings();
    closed(code, reason).catch(fail);
  });
  const peer: Peer = {
    ...about,
    ...sender,
    caller: null,
    messagesInWork: 0,
    unsent: new Map(),
    unwatchCredential: () => undefined,
  };
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      send: peer.send,
      close: (code, reason) => socket.close(code, closeReason(reason ?? '')),
      onMessage: (handle) => {
        const separated = separateReusedIds(socket, handle);
        socket.on('message', (data: Buffer) => {
          if (!admitMessage(data.length)) return;
          // ws has checked text messages, but not binary ones.
          if (isUtf8(data)) work(separated, data);
          else socket.close(INVALID_BYTES, 'The message is not UTF-8');
        });
      },
    },
    peer,
  );
  limitUnread(socket, connection);
  // Protocol errors of a client (an oversized message, a bad frame) end its socket; ws sends the close code.
  socket.on('error', () => undefined);
}

function retryAfterOf(error: unknown): number {
  const seconds = error instanceof DomainError ? error.details['retryAfterSeconds'] : undefined;
  return typeof seconds === 'number' ? seconds : RETRY_SOCKET_SECONDS;
}

async function closeAll(sockets: WebSocketServer, graceMs: number): Promise<void> {
  // Refuses sockets that wait for admission: opened later, they would not be closed here.
  sockets.close();
  const clients = [...sockets.clients];
  const gone = clients.map((client) => new Promise((resolve) => client.once('close', resolve)));
  for (const client of clients) client.close(GOING_AWAY, 'The server is stopping; connect again.');
  const timer = setTimeout(() => {
    for (const client of clients) client.terminate();
  }, graceMs);
  await Promise.all(gone);
  clearTimeout(timer);
}
