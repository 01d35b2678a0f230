/**
 * The graphql-transport-ws state machine, with the product's gate, pipeline and error table.
 */
import { GraphQLError } from 'graphql';
import { CloseCode, makeServer, type Context as SocketContext, type ServerOptions } from 'graphql-ws';
import type { WebSocket } from 'ws';
import type { CredentialEnds } from '../../identity/credentialEnds.ts';
import type { Caller } from '../../identity/roles.ts';
import { DomainError } from '../../lib/errors.ts';
import { createTurns } from '../server/turns.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { toWireError } from '../graphql/errors.ts';
import { isStream } from '../graphql/guardOperations.ts';
import { mapAllAndLog, type ErrorLog } from '../graphql/maskErrors.ts';
import type { SendEvent } from '../server/socketIo.ts';
import { newContext } from '../graphql/transportContext.ts';
import type { Pipeline } from '../graphql/yoga.ts';
import { closeReason, TOO_MANY } from './closeReason.ts';
import { SentEvents } from './sentEvents.ts';
import { socketCredentialOf } from './socketCredential.ts';

export interface ProtocolOptions {
  pipeline: Pipeline;
  credentialEnds: CredentialEnds;
  log: ErrorLog;
  newRequestId: () => string;
}

const MAX_OPERATIONS_PER_SOCKET = 100;
/** Limit on messages in progress; operations that the client has cancelled may still be ending. */
const MAX_MESSAGES_AT_A_TIME = 2 * MAX_OPERATIONS_PER_SOCKET;
/**
 * Two hundred sockets of an address may begin an operation at the same time, and each takes up to a
 * millisecond. A waiting operation holds its message of at most 64 kB.
 */
const OPERATION_TURNS = { perTurn: 8, maxWaiting: 2_000, waitMs: 10_000 };
/** Deadline for connection_init, which clients send at once. */
const INIT_WAIT_MS = 3_000;

const TRY_AGAIN_LATER = 1013;
/**
 * Close codes of refusals that are not about the credential: a client that took it for a bad one would
 * discard it.
 */
const OTHER_REFUSALS = new Map<unknown, number>([
  ['RATE_LIMITED', TOO_MANY],
  ['OVERLOADED', TRY_AGAIN_LATER],
  ['DATABASE_UNAVAILABLE', TRY_AGAIN_LATER],
  ['INTERNAL_SERVER_ERROR', CloseCode.InternalServerError],
]);

export interface Peer {
  socket: WebSocket;
  remoteAddress: string;
  /** The Authorization header that the upgrade request had. */
  upgradeAuthorization: string | undefined;
  caller: Caller | null;
  /** Resolves when the message has left the process. */
  send: (message: string) => Promise<void>;
  sendEvent: SendEvent;
  messagesInWork: number;
  /** Called when the answer to an operation has been sent, by the operation's id. */
  unsent: Map<string, () => void>;
  unwatchCredential: () => void;
}

type PeerContext = SocketContext<Record<string, unknown>, Peer>;
type ProtocolServerOptions = ServerOptions<Record<string, unknown>, Peer>;

export type Protocol = ReturnType<typeof createProtocol>;

export function createProtocol(options: ProtocolOptions) {
  const { log, newRequestId } = options;
  return makeServer<Record<string, unknown>, Peer>({
    ...operationHandlers(options),
    connectionInitWaitTimeout: INIT_WAIT_MS,
    onConnect: ({ connectionParams, extra: peer }) => identify(options, connectionParams, peer),
    onNext: (_context: PeerContext, _id, _payload, _args, result) =>
      result.errors === undefined ? undefined : { ...result, errors: result.errors.map(toWireError) },
    onError: (_context: PeerContext, _id, _payload, errors) =>
      mapAllAndLog(errors, newRequestId(), log).map(toWireError),
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

/** Finds the socket's caller. @returns whether the socket may stay open; a refused socket is closed */
async function identify(
  { pipeline, credentialEnds, log, newRequestId }: ProtocolOptions,
  connectionParams: Record<string, unknown> | undefined,
  peer: Peer,
): Promise<boolean> {
  try {
    const credential = socketCredentialOf(connectionParams, peer.upgradeAuthorization);
    peer.caller = await pipeline.gate.identify(credential, peer.remoteAddress);
  } catch (error) {
    const [refusal] = mapAllAndLog([error], newRequestId(), log);
    const code = OTHER_REFUSALS.get(refusal?.extensions['code']) ?? CloseCode.Forbidden;
    peer.socket.close(code, closeReason(refusal?.message ?? 'Forbidden'));
    return false;
  }
  // If the socket was closed meanwhile, nothing would end the watch.
  if (peer.socket.readyState !== peer.socket.OPEN) return false;
  if (peer.caller !== null) {
    peer.unwatchCredential = credentialEnds.watch(peer.caller, (why) =>
      peer.socket.close(CloseCode.Forbidden, why),
    );
  }
  return true;
}

/** Handlers that prepare an operation and then run it. */
function operationHandlers({
  pipeline,
  credentialEnds,
  newRequestId,
}: ProtocolOptions): Pick<ProtocolServerOptions, 'onSubscribe' | 'execute' | 'subscribe'> {
  const awaitTurn = createTurns(OPERATION_TURNS);
  // graphql-ws passes only the arguments to `subscribe`, so they identify the subscription.
  const senders = new WeakMap<object, { id: string; peer: Peer }>();
  return {
    execute: pipeline.execute,
    async subscribe(args) {
      const sender = senders.get(args);
      if (sender === undefined) throw new Error('a subscription began that onSubscribe did not prepare');
      // graphql-ws keeps the arguments as long as the operation runs, and they would keep the sender.
      senders.delete(args);
      const result = await pipeline.subscribe(args);
      return isStream(result) ? new SentEvents(sender.id, result, sender.peer.sendEvent) : result;
    },
    onSubscribe: async ({ extra: peer, subscriptions }, id, payload) => {
      const operations = Object.keys(subscriptions).length;
      if (operations > MAX_OPERATIONS_PER_SOCKET || peer.messagesInWork > MAX_MESSAGES_AT_A_TIME) {
        return [tooManyOperations()];
      }
      const { caller, remoteAddress } = peer;
      const context = newContext({
        requestId: newRequestId(),
        remoteAddress,
        transport: 'websocket',
        caller,
        whenSent: (callback) => void peer.unsent.set(id, callback),
      });
      try {
        if (caller !== null) await requireCredential(credentialEnds, peer);
        await awaitTurn(addressKey(remoteAddress));
        await pipeline.gate.admitAddress(remoteAddress, context.usages);
        await pipeline.gate.admit(caller, context.usages);
        const args = await pipeline.prepare(payload, context);
        senders.set(args, { id, peer });
        return args;
      } catch (error) {
        return pipeline.refuse([error], context);
      }
    },
  };
}

/**
 * Messages that waited for a paused process arrive before it knows which credentials were revoked meanwhile.
 */
async function requireCredential(credentialEnds: CredentialEnds, { socket }: Peer): Promise<void> {
  const reading = credentialEnds.awaitCurrent();
  if (reading === null) return;
  await reading;
  if (socket.readyState !== socket.OPEN) {
    throw new DomainError('UNAUTHENTICATED', 'The credential of this socket has ended.');
  }
}

function tooManyOperations(): GraphQLError {
  return new GraphQLError(
    `This socket already runs ${MAX_OPERATIONS_PER_SOCKET} operations; end one of them or open another socket.`,
    { extensions: { code: 'RATE_LIMITED', details: { limit: MAX_OPERATIONS_PER_SOCKET } } },
  );
}
