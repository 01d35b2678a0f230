/**
 * graphql-transport-ws over ws, run through the same pipeline as HTTP.
 *
 *   upgrade ─▶ connection_init { authorization? } ─▶ acknowledged ─▶ operations … ─▶ closed
 *          │          └─ bad credential: 4403           └─ it expired or was revoked: 4403
 *          └─ silent for too long: 4408
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
import { DomainError } from '../errors.ts';
import type { CredentialEnds } from '../identity/credentialEnds.ts';
import type { Caller } from '../identity/roles.ts';
import { addressKey } from '../limits/addressKey.ts';
import { createCounters } from '../limits/counters.ts';
import type { Limits } from '../limits/limits.ts';
import { toWireError } from './errors.ts';
import type { ErrorLog } from './maskErrors.ts';
import { mapAllAndLog } from './maskErrors.ts';
import { limitMessages } from './messageLimit.ts';
import { refuseForNow } from './refuseUpgrade.ts';
import { createSender, keepAlive, limitUnread } from './socketIo.ts';
import type { TransportContext } from './transportContext.ts';
import { newContext } from './transportContext.ts';
import type { Enveloped, Pipeline } from './yoga.ts';

/** Documents and variables are smaller; results go the other way. */
const MAX_MESSAGE_BYTES = 64 * 1024;
const MAX_OPERATIONS_PER_SOCKET = 100;
/** Operations that the client has given up may still be winding down; this many messages are worked on at most. */
const MAX_MESSAGES_AT_A_TIME = 2 * MAX_OPERATIONS_PER_SOCKET;
/** A client says who it is in its first message, at once. */
const INIT_WAIT_MS = 3_000;
/** Sockets of the same address may close soon. */
const RETRY_SOCKET_SECONDS = 10;
/** RFC 6455 leaves 123 bytes of a close frame for the reason. */
const MAX_REASON_BYTES = 123;

const FORBIDDEN = 4403;
const TOO_MANY = 4429;
const INTERNAL_ERROR = 4500;
const GOING_AWAY = 1001;

export interface WebsocketOptions {
  pipeline: Pipeline;
  credentialEnds: CredentialEnds;
  limits: Limits;
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
  openSockets(): number;
}

interface Peer {
  socket: WebSocket;
  remoteAddress: string;
  caller: Caller | null;
  messagesInWork: number;
  unwatchCredential: () => void;
}

type PeerContext = SocketContext<Record<string, unknown>, Peer>;

export function createWebsocketServer(options: WebsocketOptions): WebsocketServer {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, handleProtocols });
  const protocol = createProtocol(options);
  const open = createCounters(options.limits.maxConnections, options.limits.maxSocketsPerAddress);
  const accept = (socket: WebSocket, request: IncomingMessage, remoteAddress: string) => {
    const peer: Peer = {
      socket,
      remoteAddress,
      caller: null,
      messagesInWork: 0,
      unwatchCredential: () => undefined,
    };
    serve(peer, request, protocol, options.log);
  };
  const admit = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const remoteAddress = options.remoteAddressOf(request);
    const close = open.open(addressKey(remoteAddress));
    if (close === null) {
      refuseForNow(socket, RETRY_SOCKET_SECONDS);
      return;
    }
    socket.once('close', close);
    await options.pipeline.gate.knock(remoteAddress, []);
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

/** The graphql-transport-ws state machine, with our gate, pipeline and error table. */
function createProtocol(options: WebsocketOptions) {
  const { pipeline, credentialEnds, clock, log, newRequestId } = options;
  // graphql-ws calls `execute` and `subscribe` with the arguments alone; each operation has its own pair.
  const runs = new WeakMap<object, Enveloped>();
  const runOf = (args: ExecutionArgs): Enveloped => {
    const run = runs.get(args);
    if (run === undefined) throw new Error('an operation was started that onSubscribe did not prepare');
    return run;
  };
  const prepare = async (peer: Peer, payload: SubscribePayload, context: TransportContext) => {
    await pipeline.gate.knock(peer.remoteAddress, context.usages);
    await pipeline.gate.admit(peer.caller, context.usages);
    const enveloped = pipeline.getEnveloped(context);
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
  const refuseSocket = (peer: Peer, error: unknown) => {
    const [refusal] = mapAllAndLog(error, newRequestId(), log);
    const code = refusal?.extensions['code'] === 'RATE_LIMITED' ? TOO_MANY : FORBIDDEN;
    peer.socket.close(code, closeReason(refusal?.message ?? 'Forbidden'));
  };

  return makeServer<Record<string, unknown>, Peer>({
    execute: (args) => runOf(args).execute(args),
    subscribe: (args) => runOf(args).subscribe(args),
    connectionInitWaitTimeout: INIT_WAIT_MS,
    onConnect: async ({ connectionParams, extra: peer }) => {
      try {
        peer.caller = await pipeline.gate.identify(connectionParams?.['authorization'], peer.remoteAddress);
      } catch (error) {
        refuseSocket(peer, error);
        return false;
      }
      if (peer.caller !== null) {
        peer.unwatchCredential = credentialEnds.watch(peer.caller, (why) =>
          peer.socket.close(FORBIDDEN, why),
        );
      }
      return true;
    },
    onSubscribe: async ({ extra: peer, subscriptions }, _id, payload) => {
      const operations = Object.keys(subscriptions).length;
      if (operations > MAX_OPERATIONS_PER_SOCKET || peer.messagesInWork > MAX_MESSAGES_AT_A_TIME) {
        return [tooManyOperations()];
      }
      const { caller, remoteAddress } = peer;
      const about = { requestId: newRequestId(), remoteAddress, caller, transport: 'websocket' as const };
      const context = newContext({ ...about, startedAt: clock.now() });
      const refuse = (errors: readonly GraphQLError[]) => {
        pipeline.logRefusal(context, errors);
        return errors;
      };
      try {
        const prepared = await prepare(peer, payload, context);
        return Array.isArray(prepared) ? refuse(prepared) : prepared;
      } catch (error) {
        return refuse(mapAllAndLog(error, context.requestId, log));
      }
    },
    onNext: (_context: PeerContext, _id, _payload, _args, result) =>
      result.errors === undefined ? undefined : { ...result, errors: result.errors.map(toWireError) },
    onError: (_context: PeerContext, _id, _payload, errors) =>
      errors.flatMap((error) => mapAllAndLog(error, newRequestId(), log)).map(toWireError),
    onClose: ({ extra: peer }) => peer.unwatchCredential(),
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
  const work = (handle: (message: string) => Promise<void>, data: Buffer) => {
    peer.messagesInWork += 1;
    handle(data.toString())
      .catch(fail)
      .finally(() => {
        peer.messagesInWork -= 1;
      });
  };
  const stopPings = keepAlive(socket);
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      send: createSender(socket, (code, reason) => {
        stopPings();
        closed(code, reason).catch(fail);
      }),
      close: (code, reason) => socket.close(code, closeReason(reason ?? '')),
      onMessage: (handle) => socket.on('message', (data: Buffer) => work(handle, data)),
    },
    peer,
  );
  limitUnread(socket, request);
  limitMessages(socket);
  // A client's protocol errors (too large a message, a bad frame) end its socket; ws says so to the client.
  socket.on('error', () => undefined);
}

function retryAfterOf(error: unknown): number {
  const seconds = error instanceof DomainError ? error.details['retryAfterSeconds'] : undefined;
  return typeof seconds === 'number' ? seconds : RETRY_SOCKET_SECONDS;
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
