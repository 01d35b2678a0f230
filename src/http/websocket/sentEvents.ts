/**
 * Sends a subscription's events in place of graphql-ws, which would make the text of each event again for every
 * subscriber: here a result that many share becomes bytes once, and each subscription's id is put in front of them.
 */
import type { ExecutionResult } from 'graphql';
import type { PullStream, Take } from '../../lib/pullStream.ts';
import type { SendEvent } from '../server/socketIo.ts';
import { toWireError } from '../graphql/errors.ts';

/** By result; only results without errors are shared. */
const shared = new WeakMap<ExecutionResult, Buffer>();

/**
 * A stream that yields nothing, and ends when `events` do. The next event is pulled when the one before has been sent.
 * @param send calls back when the bytes have left the process
 */
export function sendEvents(
  id: string,
  events: PullStream<ExecutionResult>,
  send: SendEvent,
): AsyncGenerator<ExecutionResult, void, void> {
  const head = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
  const ended = { done: true, value: undefined } as const;
  return {
    next: () =>
      new Promise((resolve, reject) => {
        const sendNext = () => events.pull(take);
        const take: Take<ExecutionResult> = (step) => {
          if (step === null) resolve(ended);
          else if ('error' in step) reject(step.error);
          else send(head, tailOf(step.value), sendNext);
        };
        sendNext();
      }),
    return: () => events.return(),
    throw: (error) => events.throw(error),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** The rest of the message. */
function tailOf(result: ExecutionResult): Buffer {
  if (result.errors !== undefined) return bytesOf({ ...result, errors: result.errors.map(toWireError) });
  const known = shared.get(result);
  if (known !== undefined) return known;
  const bytes = bytesOf(result);
  shared.set(result, bytes);
  return bytes;
}

function bytesOf(result: object): Buffer {
  return Buffer.from(`${JSON.stringify(result)}}`);
}
