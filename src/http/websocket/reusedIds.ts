/**
 * Lets a client use an operation's id again as soon as it has completed it, as graphql-transport-ws allows.
 *
 * A defect of graphql-ws: when an operation ends, `finally { delete ctx.subscriptions[id] }` removes its id,
 * whichever operation has the id by then. When two operations use one id, the end of the first one thus
 * completes the second one, whose client never gets an event. Here the second one waits until the first one
 * has ended.
 */
import { CloseCode, MessageType, parseMessage, type Message } from 'graphql-ws';
import type { WebSocket } from 'ws';
import { closeReason } from './closeReason.ts';

type HandleMessage = (data: string) => Promise<void>;

interface Run {
  /** The client has completed the operation, which may still be ending. */
  isCompleted: boolean;
  /** The message that begins the next operation with this id; as text, which takes less memory. */
  next: { data: string; handled: () => void; failed: (error: unknown) => void } | null;
}

/** Well-formed messages that clients never send: graphql-ws throws, which would be logged as a defect. */
const OF_SERVERS: ReadonlySet<MessageType> = new Set([
  MessageType.ConnectionAck,
  MessageType.Next,
  MessageType.Error,
]);

/** @param socket the one that the messages come from */
export function separateReusedIds(
  socket: Pick<WebSocket, 'OPEN' | 'readyState' | 'close'>,
  handleText: HandleMessage,
): HandleMessage {
  // The type of `handleText` allows only text, but graphql-ws only validates a parsed message. Parsing 64 kB
  // takes a millisecond.
  const handle = handleText as (message: string | Message) => Promise<void>;
  const runs = new Map<string, Run>();
  const begin = async (id: string, message: string | Message): Promise<void> => {
    const run: Run = { isCompleted: false, next: null };
    runs.set(id, run);
    try {
      await handle(message);
    } finally {
      runs.delete(id);
      const { next } = run;
      // Nothing would end an operation that begins on a closed socket.
      if (next !== null && socket.readyState === socket.OPEN)
        begin(id, next.data).then(next.handled, next.failed);
      else next?.handled();
    }
  };
  return async (data) => {
    const message = parse(data);
    if (message === null) return handle(data);
    if (OF_SERVERS.has(message.type)) return socket.close(CloseCode.BadRequest, 'Invalid message received');
    if (message.type !== MessageType.Subscribe && message.type !== MessageType.Complete)
      return handle(message);
    const { id, type } = message;
    const run = runs.get(id);
    if (type === MessageType.Complete) {
      if (run === undefined || !run.isCompleted) {
        if (run !== undefined) run.isCompleted = true;
        return handle(message);
      }
      // The client completes the waiting operation, which then never begins.
      run.next?.handled();
      run.next = null;
      return undefined;
    }
    if (run === undefined) return begin(id, message);
    if (!run.isCompleted) return handle(message);
    if (run.next !== null)
      return socket.close(
        CloseCode.SubscriberAlreadyExists,
        closeReason(`Subscriber for ${id} already exists`),
      );
    return new Promise((handled, failed) => {
      run.next = { data, handled, failed };
    });
  };
}

/** Returns null for a message that graphql-ws will refuse. */
function parse(data: string): Message | null {
  try {
    return parseMessage(data);
  } catch {
    return null;
  }
}
