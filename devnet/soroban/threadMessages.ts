/**
 * The messages between the nodes' thread and the thread that started it.
 */
import type { MessagePort } from 'node:worker_threads';
import { RpcError } from './engine.ts';
import type { NodeOptions } from './openNode.ts';

export interface ThreadData {
  /** Questions whose answers the caller awaits with `Atomics.wait`. */
  controls: MessagePort;
  /** Counts the answers in `controls`. */
  answers: Int32Array;
}

/** A command for the node with this number. */
export type Command =
  | { name: 'open'; node: number; options: NodeOptions }
  | { name: 'call'; node: number; method: string; params: unknown }
  | { name: 'closeInTime' | 'hold' | 'release' | 'stop'; node: number };

export type Question = Command & { id: number };
export type ThreadAnswer = { id: number } & ({ result: unknown } | { failure: Failure });
/** An error that belongs to no question. */
export interface Trouble {
  node: number;
  failure: Failure;
}

/** An error as it passes between threads, which would turn every error into a plain `Error`. */
interface Failure {
  message: string;
  code: string | number | undefined;
  stack: string | undefined;
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { message: String(error), code: undefined, stack: undefined };
  const { message, stack, code } = error as Error & Partial<Pick<Failure, 'code'>>;
  return { message, stack, code };
}

export function errorOf({ message, code, stack }: Failure): Error {
  if (typeof code === 'number') return new RpcError(code, message);
  const error: NodeJS.ErrnoException = new Error(message);
  if (code !== undefined) error.code = code;
  if (stack !== undefined) error.stack = stack;
  return error;
}
