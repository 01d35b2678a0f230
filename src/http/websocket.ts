/**
 * graphql-transport-ws over ws, run through the same pipeline as HTTP.
 *
 *   upgrade ─▶ connection_init { authorization? } ─▶ acknowledged ─▶ operations … ─▶ closed
 *                     └─ bad token: 4403                └─ token expired: 4403
 *
 * A subscription's next event is pulled when the one before was flushed to the socket: graphql-ws awaits
 * `send`, and `send` here answers when the bytes left the process. A reader that stops reading therefore
 * holds one event per subscription, and stalledSockets.ts ends it.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { GraphQLError } from 'graphql';
import type { ExecutionArgs } from 'graphql';
import { handleProtocols, makeServer } from 'graphql-ws';
import type { Context as SocketContext, SubscribePayload } from 'graphql-ws';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { Clock } from '../clock.ts';
import { callerOfAuthorization } from '../identity/bearer.ts';
import type { Caller } from '../identity/roles.ts';
import type { TokenVerifier } from '../identity/tokens.ts';
import { toWireError } from './errors.ts';
import { atExpiry } from './expiry.ts';
import type { ErrorLog } from './maskErrors.ts';
import { mapAllAndLog } from './maskErrors.ts';
import type { Enveloped, Pipeline } from './yoga.ts';

/** Documents and variables are smaller; results go the other way. */
const MAX_MESSAGE_BYTES = 64 * 1024;
/** Also what one socket can make the server work on at a time. */
const MAX_OPERATIONS_PER_SOCKET = 100;
/** Above this much unread output a socket's input is left unread too, so that pings can't pile up pongs. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Well under the 60 s after which proxies drop silent connections. */
const PING_INTERVAL_MS = 12_000;
/** RFC 6455 leaves 123 bytes of a close frame for the reason. */
const MAX_REASON_BYTES = 123;

const FORBIDDEN = 4403;
const INTERNAL_ERROR = 4500;
const GOING_AWAY = 1001;

export interface WebsocketOptions {
  pipeline: Pipeline;
  verifyToken: TokenVerifier;
  clock: Clock;
  log: ErrorLog;
  newRequestId: () => string;
  remoteAddressOf: (request: IncomingMessage) => string;
}

export interface WebsocketServer {
  /** Takes over a connection whose path and origin were checked. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Says 1001 to every client; resolves when all are gone, or after `graceMs` at the latest. */
  close(graceMs: number): Promise<void>;
}

interface Peer {
  socket: WebSocket;
  remoteAddress: string;
  caller: Caller | null;
  runningOperations: number;
  cancelExpiry: () => void;
}

type PeerContext = SocketContext<Record<string, unknown>, Peer>;

export function createWebsocketServer(options: WebsocketOptions): WebsocketServer {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, handleProtocols });
  const protocol = createProtocol(options);
  const accept = (socket: WebSocket, request: IncomingMessage) => {
    const peer: Peer = {
      socket,
      remoteAddress: options.remoteAddressOf(request),
      caller: null,
      runningOperations: 0,
      cancelExpiry: () => undefined,
    };
    serve(peer, request, protocol, options.log);
  };
  return {
    upgrade: (request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, accept);
    },
    close: (graceMs) => closeAll(sockets, graceMs),
  };
}

/** The graphql-transport-ws state machine, with our token check, pipeline and error table. */
function createProtocol({ pipeline, verifyToken, clock, log, newRequestId }: WebsocketOptions) {
  // graphql-ws calls `execute` and `subscribe` with the arguments alone; each operation has its own pair.
  const runs = new WeakMap<object, Enveloped>();
  const runOf = (args: ExecutionArgs): Enveloped => {
    const run = runs.get(args);
    if (run === undefined) throw new Error('an operation was started that onSubscribe did not prepare');
    return run;
  };
  const prepare = async (peer: Peer, payload: SubscribePayload, requestId: string) => {
    const { caller, remoteAddress } = peer;
    const enveloped = pipeline.getEnveloped({ requestId, remoteAddress, caller });
    const document = enveloped.parse(payload.query);
    const problems = enveloped.validate(enveloped.schema, document);
    if (problems.length > 0) return problems;
    const args: ExecutionArgs = {
      schema: enveloped.schema,
      document,
      operationName: payload.operationName,
      variableValues: payload.variables,
      contextValue: await enveloped.contextFactory(),
      rootValue: undefined,
    };
    runs.set(args, enveloped);
    return args;
  };

  return makeServer<Record<string, unknown>, Peer>({
    execute: (args) => runOf(args).execute(args),
    subscribe: (args) => runOf(args).subscribe(args),
    onConnect: async ({ connectionParams, extra: peer }) => {
      try {
        peer.caller = await callerOfAuthorization(connectionParams?.['authorization'], verifyToken);
      } catch (error) {
        const [refusal] = mapAllAndLog(error, newRequestId(), log);
        peer.socket.close(FORBIDDEN, closeReason(refusal?.message ?? 'Forbidden'));
        return false;
      }
      if (peer.caller !== null) {
        peer.cancelExpiry = atExpiry(peer.caller.expiresAt, clock, () =>
          peer.socket.close(FORBIDDEN, 'The token has expired.'),
        );
      }
      return true;
    },
    onSubscribe: async ({ extra: peer }, _id, payload) => {
      if (peer.runningOperations > MAX_OPERATIONS_PER_SOCKET) return [tooManyOperations()];
      const requestId = newRequestId();
      try {
        return await prepare(peer, payload, requestId);
      } catch (error) {
        return mapAllAndLog(error, requestId, log);
      }
    },
    onNext: (_context: PeerContext, _id, _payload, _args, result) =>
      result.errors === undefined ? undefined : { ...result, errors: result.errors.map(toWireError) },
    onError: (_context: PeerContext, _id, _payload, errors) =>
      errors.flatMap((error) => mapAllAndLog(error, newRequestId(), log)).map(toWireError),
    onClose: ({ extra: peer }) => peer.cancelExpiry(),
  });
}

type Protocol = ReturnType<typeof createProtocol>;

/** Connects one websocket to the protocol. */
function serve(peer: Peer, request: IncomingMessage, protocol: Protocol, log: ErrorLog): void {
  const { socket } = peer;
  const fail = (error: unknown) => {
    log.error({ err: error, remoteAddress: peer.remoteAddress }, 'a websocket failed by a defect');
    socket.close(INTERNAL_ERROR, 'Internal error');
  };
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      send: (data) => sendFlushed(socket, data),
      close: (code, reason) => socket.close(code, closeReason(reason ?? '')),
      onMessage: (handle) => {
        socket.on('message', (data: Buffer) => {
          peer.runningOperations += 1;
          handle(data.toString())
            .catch(fail)
            .finally(() => {
              peer.runningOperations -= 1;
            });
        });
      },
    },
    peer,
  );
  const stopPings = keepAlive(socket);
  limitUnread(socket, request);
  // A client's protocol errors (too large a message, a bad frame) end its socket; ws says so to the client.
  socket.on('error', () => undefined);
  socket.once('close', (code, reason) => {
    stopPings();
    closed(code, String(reason)).catch(fail);
  });
}

/** Answers when the bytes left the process, which is what holds the next pull back. */
function sendFlushed(socket: WebSocket, data: string): Promise<void> {
  return new Promise((resolve) => {
    // A closed socket is no failure of the operation: its end is told by the close event.
    if (socket.readyState !== socket.OPEN) resolve();
    else socket.send(data, () => resolve());
  });
}

/** Output that is still on its way is not judged here: whether it moves, stalledSockets.ts decides. */
function keepAlive(socket: WebSocket): () => void {
  let isAlive = true;
  socket.on('pong', () => {
    isAlive = true;
  });
  const timer = setInterval(() => {
    if (socket.readyState !== socket.OPEN || socket.bufferedAmount > 0) return;
    if (!isAlive) {
      socket.terminate();
      return;
    }
    isAlive = false;
    socket.ping();
  }, PING_INTERVAL_MS).unref();
  return () => clearInterval(timer);
}

/** Stops reading from a client that does not read. */
function limitUnread(socket: WebSocket, request: IncomingMessage): void {
  const pauseWhenFull = () => {
    if (socket.bufferedAmount > MAX_UNREAD_BYTES) socket.pause();
  };
  socket.on('message', pauseWhenFull);
  socket.on('ping', pauseWhenFull);
  request.socket.on('drain', () => socket.resume());
}

function tooManyOperations(): GraphQLError {
  return new GraphQLError(
    `This socket already runs ${MAX_OPERATIONS_PER_SOCKET} operations; end one of them or open another socket.`,
    { extensions: { code: 'RATE_LIMITED', details: { limit: MAX_OPERATIONS_PER_SOCKET } } },
  );
}

function closeReason(text: string): string {
  return Buffer.from(text)
    .subarray(0, MAX_REASON_BYTES)
    .toString()
    .replace(/\uFFFD$/, '');
}

async function closeAll(sockets: WebSocketServer, graceMs: number): Promise<void> {
  const clients = [...sockets.clients];
  const gone = clients.map((client) => new Promise((resolve) => client.once('close', resolve)));
  for (const client of clients) client.close(GOING_AWAY, 'The server is stopping; connect again.');
  const timer = setTimeout(() => {
    for (const client of clients) client.terminate();
  }, graceMs);
  await Promise.all(gone);
  clearTimeout(timer);
  sockets.close();
}
