/**
 * The thread that all nodes of this process run in, so that carrying out contracts holds up nothing else.
 */
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { errorOf } from './threadMessages.ts';
import type { Command, Question, ThreadAnswer, ThreadData, Trouble } from './threadMessages.ts';

interface NodesThread {
  /** @throws RpcError what the node refuses */
  ask(command: Command): Promise<unknown>;
  /**
   * The same for what the thread answers at once: this thread stands still meanwhile.
   * @throws RpcError what the node refuses
   */
  askNow(command: Command): unknown;
  /** Until it is called with null again, the process goes on, and errors that belong to no question are reported. */
  watch(node: number, onError: ((error: unknown) => void) | null): void;
}

/** A ledger takes a second at the most; without a limit, a thread that has died would stop this one for ever. */
const MAX_WAIT_MS = 120_000;

let current: NodesThread | null = null;

export function nodesThread(): NodesThread {
  return (current ??= startThread());
}

function startThread(): NodesThread {
  const { port1: controls, port2 } = new MessageChannel();
  const answers = new Int32Array(new SharedArrayBuffer(4));
  const data: ThreadData = { controls: port2, answers };
  const worker = new Worker(new URL('thread.mjs', import.meta.url), {
    workerData: data,
    transferList: [port2],
    // It has a loader of its own.
    execArgv: [],
  });
  worker.unref();
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  const watched = new Map<number, (error: unknown) => void>();
  let asked = 0;
  let ended: Error | null = null;

  worker.on('message', (message: ThreadAnswer | Trouble) => {
    if ('node' in message) {
      watched.get(message.node)?.(errorOf(message.failure));
      return;
    }
    const question = waiting.get(message.id);
    waiting.delete(message.id);
    if ('failure' in message) question?.reject(errorOf(message.failure));
    else question?.resolve(message.result);
  });
  worker.on('error', end);
  worker.on('exit', () => end(new Error('The thread of the Soroban nodes has ended')));

  function end(error: Error): void {
    if (ended) return;
    ended = error;
    current = null;
    for (const { reject } of waiting.values()) reject(error);
    for (const onError of watched.values()) onError(error);
  }

  return {
    ask(command) {
      if (ended) return Promise.reject(ended);
      const question: Question = { ...command, id: (asked += 1) };
      return new Promise((resolve, reject) => {
        waiting.set(question.id, { resolve, reject });
        worker.postMessage(question);
      });
    },
    askNow(command) {
      if (ended) throw ended;
      const before = Atomics.load(answers, 0);
      controls.postMessage({ ...command, id: (asked += 1) });
      // The notification of an earlier answer, which was there before it was waited for, may come only now.
      while (Atomics.load(answers, 0) === before) {
        if (Atomics.wait(answers, 0, before, MAX_WAIT_MS) !== 'timed-out') continue;
        end(new Error(`The thread of the Soroban nodes has not answered for ${MAX_WAIT_MS / 1000} s`));
        throw ended ?? new Error('not reached');
      }
      const answer = (receiveMessageOnPort(controls) as { message: ThreadAnswer }).message;
      if ('failure' in answer) throw errorOf(answer.failure);
      return answer.result;
    },
    watch(node, onError) {
      if (onError) watched.set(node, onError);
      else watched.delete(node);
      if (watched.size > 0) worker.ref();
      else worker.unref();
    },
  };
}
