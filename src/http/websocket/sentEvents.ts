/**
 * Sends a subscription's events in place of graphql-ws, which would make the text of each event again for every
 * subscriber: here a result that many share becomes text once, and each subscription's id is put in front of it.
 */
import type { ExecutionResult } from 'graphql';
import { toWireError } from '../graphql/errors.ts';

/** By result; only results without errors are shared. */
const texts = new WeakMap<ExecutionResult, string>();

/**
 * A stream that yields nothing, and ends when `events` do. The next event is pulled when the one before has been sent.
 * @param send resolves when the bytes have left the process
 */
export function sendEvents(
  id: string,
  events: AsyncIterable<ExecutionResult>,
  send: (message: string) => Promise<void>,
): AsyncGenerator<ExecutionResult, void, void> {
  const source = events[Symbol.asyncIterator]();
  const head = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
  const end = async () => {
    await source.return?.();
    return { done: true, value: undefined } as const;
  };
  return {
    async next() {
      for (let step = await source.next(); step.done !== true; step = await source.next()) {
        await send(`${head}${textOf(step.value)}}`);
      }
      return { done: true, value: undefined };
    },
    return: end,
    async throw(error) {
      await end();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function textOf(result: ExecutionResult): string {
  if (result.errors !== undefined) {
    return JSON.stringify({ ...result, errors: result.errors.map(toWireError) });
  }
  const known = texts.get(result);
  if (known !== undefined) return known;
  const text = JSON.stringify(result);
  texts.set(result, text);
  return text;
}
