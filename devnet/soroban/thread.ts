/**
 * The thread in which all nodes of this process run, so that carrying out contracts blocks nothing else.
 */
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { errorOf } from './threadMessages.ts';
import type { Command, Question, ThreadAnswer, ThreadData, Trouble } from './threadMessages.ts';

interface NodesThread {
  /** @throws RpcError when the node refuses */
  ask(command: Command): Promise<unknown>;
  /**
   * The same for commands that the thread answers immediately; the calling thread blocks until then.
   * @throws RpcError when the node refuses
   */
  askNow(command: Command): unknown;
  /** Keeps the process alive, and reports errors that belong to no question, until it is called with null. */
  watch(node: number, onError: ((error: unknown) => void) | null): void;
}

/** A ledger takes at most a second. Without a limit, a dead thread would block this one for ever. */
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
    // The thread has its own loader.
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
      // A late notification of an earlier answer, which arrived before the wait for it, may end this wait.
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
