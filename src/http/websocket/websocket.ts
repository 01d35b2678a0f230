/**
 * graphql-transport-ws over ws, run through the same pipeline as HTTP.
 *
 *   upgrade ─▶ connection_init { authorization? } ─▶ acknowledged ─▶ operations … ─▶ closed
 *          │          └─ bad credential: 4403           └─ it expired or was revoked: 4403
 *          └─ silent for too long: 4408
 *
 * A subscription's next event is pulled when the one before was flushed to the socket: sentEvents.ts awaits
 * `send`, which answers when the bytes left the process. A reader that stops reading therefore
 * holds one event per subscription, and stalledSockets.ts ends it.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { GraphQLError } from 'graphql';
import type { ExecutionArgs, ExecutionResult } from 'graphql';
import { handleProtocols, makeServer } from 'graphql-ws';
import type { Context as SocketContext, SubscribePayload } from 'graphql-ws';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { Clock } from '../../lib/clock.ts';
import { DomainError } from '../../lib/errors.ts';
import type { CredentialEnds } from '../../identity/credentialEnds.ts';
import type { Caller } from '../../identity/roles.ts';
import { addressKey } from '../../limits/addressKey.ts';
import { createCounters } from '../../limits/counters.ts';
import type { Limits } from '../../limits/limits.ts';
import { toWireError } from '../graphql/errors.ts';
import type { ErrorLog } from '../graphql/maskErrors.ts';
import { mapAllAndLog } from '../graphql/maskErrors.ts';
import { separateReusedIds } from './reusedIds.ts';
import { createMessageLimit, type AdmitMessage } from './messageLimit.ts';
import { refuseForNow } from '../server/refuseUpgrade.ts';
import { createSender, keepAlive, limitUnread } from '../server/socketIo.ts';
import { sendEvents } from './sentEvents.ts';
import type { TransportContext } from '../graphql/transportContext.ts';
import { newContext } from '../graphql/transportContext.ts';
import type { Enveloped, Pipeline } from '../graphql/yoga.ts';
import { socketCredentialOf } from './socketCredential.ts';

/** Documents and variables are smaller; results go the other way. */
const MAX_MESSAGE_BYTES = 64 * 1024;
const MAX_OPERATIONS_PER_SOCKET = 100;
/** Limit on messages in progress; operations that the client has cancelled may still be ending. */
const MAX_MESSAGES_AT_A_TIME = 2 * MAX_OPERATIONS_PER_SOCKET;
/** Deadline for connection_init, which clients send at once. */
const INIT_WAIT_MS = 3_000;
/** Sockets of the same address may close soon. */
const RETRY_SOCKET_SECONDS = 10;
/** RFC 6455: a close frame has 123 bytes for the reason. */
const MAX_REASON_BYTES = 123;

const FORBIDDEN = 4403;
const TOO_MANY = 4429;
const INTERNAL_ERROR = 4500;
const GOING_AWAY = 1001;

interface WebsocketOptions {
  pipeline: Pipeline;
  credentialEnds: CredentialEnds;
  limits: Limits;
  clock: Clock;
  log: ErrorLog;
  newRequestId: () => string;
  remoteAddressOf: (request: IncomingMessage) => string;
}

interface WebsocketServer {
  /** Takes a connection whose path and origin are checked. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Closes every socket with 1001; resolves when all are closed, or after `graceMs`. */
  close(graceMs: number): Promise<void>;
  openSockets(): number;
}

interface Peer {
  socket: WebSocket;
  remoteAddress: string;
  /** The Authorization header that the upgrade request had. */
  upgradeAuthorization: string | undefined;
  caller: Caller | null;
  /** Resolves when the message has left the process. */
  send: (message: string) => Promise<void>;
  messagesInWork: number;
  /** What waits for the answer to an operation to be sent, by the operation's id. */
  unsent: Map<string, () => void>;
  unwatchCredential: () => void;
}

/** What an operation was prepared for. */
interface Run {
  enveloped: Enveloped;
  id: string;
  peer: Peer;
}

type PeerContext = SocketContext<Record<string, unknown>, Peer>;

export function createWebsocketServer(options: WebsocketOptions): WebsocketServer {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols,
    // One message of each socket in a turn of the event loop: what a socket sends at once, others need not wait for.
    allowSynchronousEvents: false,
  });
  const protocol = createProtocol(options);
  const open = createCounters(options.limits.maxConnections, options.limits.maxSocketsPerAddress);
  const perAddress = {
    operationsPerMinute: options.limits.rates.addressPerMinute,
    sockets: options.limits.maxSocketsPerAddress,
  };
  const limitMessages = createMessageLimit(perAddress, () => performance.now());
  const accept = (socket: WebSocket, request: IncomingMessage, remoteAddress: string) => {
    const peer: Peer = {
      socket,
      remoteAddress,
      upgradeAuthorization: request.headers.authorization,
      caller: null,
      send: async () => undefined,
      messagesInWork: 0,
      unsent: new Map(),
      unwatchCredential: () => undefined,
    };
    const admitMessage = limitMessages(socket, request.socket, addressKey(remoteAddress));
    serve(peer, { request, protocol, admitMessage, log: options.log });
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

/** The graphql-transport-ws state machine, with our gate, pipeline and error table. */
function createProtocol(options: WebsocketOptions) {
  const { pipeline, credentialEnds, clock, log, newRequestId } = options;
  // graphql-ws passes only the arguments to `execute` and `subscribe`; each operation has its own pair.
  const runs = new WeakMap<object, Run>();
  const runOf = (args: ExecutionArgs): Run => {
    const run = runs.get(args);
    if (run === undefined) throw new Error('an operation was started that onSubscribe did not prepare');
    return run;
  };
  const prepare = async (peer: Peer, id: string, payload: SubscribePayload, context: TransportContext) => {
    await pipeline.gate.admitAddress(peer.remoteAddress, context.usages);
    await pipeline.gate.admit(peer.caller, context.usages);
    context.document = pipeline.documents.documentOf(payload) ?? { text: payload.query };
    const enveloped = pipeline.getEnveloped(context);
    const document = enveloped.parse(context.document.text);
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
    runs.set(args, { enveloped, id, peer });
    return args;
  };
  const refuseSocket = (peer: Peer, error: unknown) => {
    const [refusal] = mapAllAndLog(error, newRequestId(), log);
    const code = refusal?.extensions['code'] === 'RATE_LIMITED' ? TOO_MANY : FORBIDDEN;
    peer.socket.close(code, closeReason(refusal?.message ?? 'Forbidden'));
  };

  return makeServer<Record<string, unknown>, Peer>({
    execute: (args) => runOf(args).enveloped.execute(args),
    async subscribe(args) {
      const { enveloped, id, peer } = runOf(args);
      const result = await enveloped.subscribe(args);
      return isStream(result) ? sendEvents(id, result, peer.send) : result;
    },
    connectionInitWaitTimeout: INIT_WAIT_MS,
    onConnect: async ({ connectionParams, extra: peer }) => {
      try {
        const credential = socketCredentialOf(connectionParams, peer.upgradeAuthorization);
        peer.caller = await pipeline.gate.identify(credential, peer.remoteAddress);
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
    onSubscribe: async ({ extra: peer, subscriptions }, id, payload) => {
      const operations = Object.keys(subscriptions).length;
      if (operations > MAX_OPERATIONS_PER_SOCKET || peer.messagesInWork > MAX_MESSAGES_AT_A_TIME) {
        return [tooManyOperations()];
      }
      const { caller, remoteAddress } = peer;
      const about = { requestId: newRequestId(), remoteAddress, caller, transport: 'websocket' as const };
      const whenSent = (callback: () => void) => void peer.unsent.set(id, callback);
      const context = newContext({ ...about, startedAt: clock.now(), whenSent });
      const refuse = (errors: readonly GraphQLError[]) => {
        pipeline.logRefusal(context, errors);
        return errors;
      };
      try {
        const prepared = await prepare(peer, id, payload, context);
        return Array.isArray(prepared) ? refuse(prepared) : prepared;
      } catch (error) {
        return refuse(mapAllAndLog(error, context.requestId, log));
      }
    },
    onNext: (_context: PeerContext, _id, _payload, _args, result) =>
      result.errors === undefined ? undefined : { ...result, errors: result.errors.map(toWireError) },
    onError: (_context: PeerContext, _id, _payload, errors) =>
      errors.flatMap((error) => mapAllAndLog(error, newRequestId(), log)).map(toWireError),
    onComplete: ({ extra: peer }, id) => {
      peer.unsent.get(id)?.();
      peer.unsent.delete(id);
    },
    onClose: ({ extra: peer }) => {
      peer.unwatchCredential();
      for (const callback of peer.unsent.values()) callback();
      peer.unsent.clear();
    },
  });
}

type Protocol = ReturnType<typeof createProtocol>;

interface Served {
  request: IncomingMessage;
  protocol: Protocol;
  admitMessage: AdmitMessage;
  log: ErrorLog;
}

/** Connects one websocket to the protocol. */
function serve(peer: Peer, { request, protocol, admitMessage, log }: Served): void {
  const { socket } = peer;
  const fail = (error: unknown) => {
    log.error({ err: error, remoteAddress: peer.remoteAddress }, 'a websocket failed because of a defect');
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
  peer.send = createSender(socket, (code, reason) => {
    stopPings();
    closed(code, reason).catch(fail);
  });
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      send: peer.send,
      close: (code, reason) => socket.close(code, closeReason(reason ?? '')),
      onMessage: (handle) => {
        const separated = separateReusedIds(socket, handle);
        socket.on('message', (data: Buffer) => {
          if (admitMessage()) work(separated, data);
        });
      },
    },
    peer,
  );
  limitUnread(socket, request);
  // Protocol errors of a client (an oversized message, a bad frame) end its socket; ws sends the close code.
  socket.on('error', () => undefined);
}

function isStream(result: object): result is AsyncIterable<ExecutionResult> {
  return Symbol.asyncIterator in result;
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
