/**
 * Sends a subscription's events instead of graphql-ws, which would serialize each event again for every
 * subscriber. Here a shared result is serialized once, and each subscription's id is put in front of the
 * text.
 */
import type { ExecutionResult } from 'graphql';
import { StreamBase, type PullStream, type StepReader } from '../../lib/pullStream.ts';
import type { EventSender, SendEvent } from '../server/socketIo.ts';
import { toWireError } from '../graphql/errors.ts';
import { getOrMake } from '../../lib/getOrMake.ts';

/** Texts by result; only results without errors are shared. */
const shared = new WeakMap<ExecutionResult, string>();

/**
 * A stream that yields nothing and ends when `events` ends. It pulls the next event when the previous one has
 * been sent.
 */
export class SentEvents
  extends StreamBase<ExecutionResult>
  implements StepReader<ExecutionResult>, EventSender
{
  private readonly head: string;
  private readonly events: PullStream<ExecutionResult>;
  private readonly send: SendEvent;
  private reader: StepReader<ExecutionResult> | undefined;
  private isPulling = false;
  private isSent = false;

  /** @param send says whether the bytes have left the process, or calls back when they have */
  constructor(id: string, events: PullStream<ExecutionResult>, send: SendEvent) {
    super();
    this.head = bytesOf(`{"id":${JSON.stringify(id)},"type":"next","payload":`);
    this.events = events;
    this.send = send;
  }

  pull(reader: StepReader<ExecutionResult>): void {
    this.reader = reader;
    this.pullOn();
  }

  onValue(result: ExecutionResult): void {
    try {
      this.isSent = this.send(this.head, tailOf(result), this);
    } catch (error) {
      // If it were thrown on, it would end the turn in which the event's other subscribers are woken.
      this.stopSafely();
      return this.onError(error);
    }
    if (this.isSent && !this.isPulling) this.pullOn();
    return undefined;
  }

  onSent(): void {
    this.pullOn();
  }

  onError(error: unknown): void {
    this.reader?.onError(error);
  }

  onEnd(): void {
    this.reader?.onEnd();
  }

  protected stop(): Promise<unknown> {
    return this.events.return();
  }

  /**
   * Pulls in a loop while events come and leave at once: with a call for each event, a replay would overflow
   * the stack.
   */
  private pullOn(): void {
    this.isPulling = true;
    do {
      this.isSent = false;
      this.events.pull(this);
    } while (this.isSent);
    this.isPulling = false;
  }
}

/** The message after its head. */
function tailOf(result: ExecutionResult): string {
  if (result.errors !== undefined)
    return bytesOf(`${JSON.stringify({ ...result, errors: result.errors.map(toWireError) })}}`);
  return getOrMake(shared, result, () => bytesOf(`${JSON.stringify(result)}}`));
}

/** A text's UTF-8 bytes as a `latin1` string, which is written without a buffer. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}
