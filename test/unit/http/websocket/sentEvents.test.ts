/**
 * Events on their way to a socket: the next event is pulled after the previous one has been sent.
 */
import type { ExecutionResult } from 'graphql';
import { expect, it } from 'vitest';
import { StreamBase, type StepReader } from '../../../../src/lib/pullStream.ts';
import { SentEvents } from '../../../../src/http/websocket/sentEvents.ts';
import type { EventSender } from '../../../../src/http/server/socketIo.ts';

/** Gives that many events without waiting. */
class Replay extends StreamBase<ExecutionResult> {
  pulls = 0;
  private readonly events: number;
  private readonly error: Error | undefined;

  constructor(events: number, error?: Error) {
    super();
    this.events = events;
    this.error = error;
  }

  pull(reader: StepReader<ExecutionResult>): void {
    this.pulls += 1;
    if (this.pulls <= this.events) reader.onValue({ data: { text: 'é𝄞', number: this.pulls } });
    else if (this.error) reader.onError(this.error);
    else reader.onEnd();
  }

  protected stop(): void {}
}

it('sends a long replay without filling the stack, and ends with it', async () => {
  const events = new Replay(100_000);
  let sent = 0;
  const sending = new SentEvents('1', events, () => {
    sent += 1;
    return true;
  });
  expect(await sending.next()).toEqual({ done: true, value: undefined });
  expect(sent).toBe(100_000);
});

it('pulls the next event when the bytes of the one before have left, and not before', async () => {
  const events = new Replay(3);
  const waiting: EventSender[] = [];
  const sending = new SentEvents('1', events, (_head, _tail, sender) => {
    waiting.push(sender);
    return false;
  });
  const end = sending.next();
  for (const expected of [1, 2, 3]) {
    expect([events.pulls, waiting.length]).toEqual([expected, 1]);
    waiting.pop()?.onSent();
  }
  expect(await end).toEqual({ done: true, value: undefined });
});

it('fails with its source', async () => {
  const sending = new SentEvents('1', new Replay(1, new Error('away')), () => true);
  await expect(sending.next()).rejects.toThrow('away');
});

it('fails, and stops its source, when an event can not be written', async () => {
  const sending = new SentEvents('1', new Replay(1), () => {
    throw new Error('a defect');
  });
  await expect(sending.next()).rejects.toThrow('a defect');
});

it('is in the characters of its bytes', async () => {
  const texts: string[] = [];
  const sending = new SentEvents('ä"', new Replay(1), (head, tail) => {
    texts.push(Buffer.from(head + tail, 'latin1').toString());
    return true;
  });
  await sending.next();
  expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual([
    { id: 'ä"', type: 'next', payload: { data: { text: 'é𝄞', number: 1 } } },
  ]);
});
