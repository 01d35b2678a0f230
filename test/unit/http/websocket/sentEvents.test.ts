/**
 * Events on their way to a socket: the next event is pulled after the previous one has been sent.
 */
import { GraphQLError, type ExecutionResult } from 'graphql';
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

/** Gives the events that the test gives it. */
class Given extends StreamBase<ExecutionResult> {
  reader: StepReader<ExecutionResult> | undefined;
  stops = 0;

  pull(reader: StepReader<ExecutionResult>): void {
    this.reader = reader;
  }

  protected stop(): void {
    this.stops += 1;
  }
}

it('fails alone, and stops its source, when an event can not be written', async () => {
  const events = new Given();
  const sending = new SentEvents('1', events, () => {
    throw new Error('a defect');
  });
  const end = sending.next();
  expect(() => events.reader?.onValue({ data: {} })).not.toThrow();
  await expect(end).rejects.toThrow('a defect');
  expect(events.stops).toBe(1);
});

/** What a subscriber with this id is sent of the result. */
function sentOf(id: string, result: ExecutionResult): unknown {
  const events = new Given();
  let text = '';
  const sending = new SentEvents(id, events, (head, tail) => {
    text = Buffer.from(head + tail, 'latin1').toString();
    return false;
  });
  void sending.next();
  events.reader?.onValue(result);
  return JSON.parse(text);
}

it('serializes a result once for all of its subscribers', () => {
  let serialized = 0;
  const toJSON = () => (serialized += 1);
  const result = { data: { toJSON } } as unknown as ExecutionResult;
  const payload = { data: 1 };
  expect(['1', '2'].map((id) => sentOf(id, result))).toEqual([
    { id: '1', type: 'next', payload },
    { id: '2', type: 'next', payload },
  ]);
});

it('sends errors without what is meant for the HTTP layer', () => {
  const error = new GraphQLError('nö', { extensions: { code: 'NOT_FOUND', http: { status: 404 } } });
  expect(sentOf('1', { data: null, errors: [error] })).toEqual({
    id: '1',
    type: 'next',
    payload: { data: null, errors: [{ message: 'nö', extensions: { code: 'NOT_FOUND' } }] },
  });
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
