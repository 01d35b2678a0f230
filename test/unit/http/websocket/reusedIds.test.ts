/**
 * Operations of one socket that use one id, one after the other, as seen by the protocol.
 */
import { MessageType } from 'graphql-ws';
import { expect, it } from 'vitest';
import { separateReusedIds } from '../../../../src/http/websocket/reusedIds.ts';

const subscribe = JSON.stringify({ id: '1', type: MessageType.Subscribe, payload: { query: '{ a }' } });
const complete = JSON.stringify({ id: '1', type: MessageType.Complete });

/** A socket whose operations last until the test ends them, in their order. */
function open() {
  const begun: { end: () => void; fail: (error: Error) => void }[] = [];
  const say = separateReusedIds({ OPEN: 1, readyState: 1, close: () => expect.fail('closed') }, (data) => {
    const { type } = data as unknown as { type: MessageType };
    if (type === MessageType.Complete) return Promise.resolve();
    return new Promise<void>((end, fail) => begun.push({ end, fail }));
  });
  return { say, begun };
}

it('handles a waiting operation that is completed before it begins, and begins the next one', async () => {
  const { say, begun } = open();
  const first = say(subscribe);
  await say(complete);
  const waiting = say(subscribe);
  await say(complete);
  await waiting;
  const next = say(subscribe);
  expect(begun).toHaveLength(1);
  begun[0]?.end();
  await first;
  expect(begun).toHaveLength(2);
  begun[1]?.end();
  await next;
});

it('tells of the failure of an operation that has waited', async () => {
  const { say, begun } = open();
  const first = say(subscribe);
  await say(complete);
  const waiting = say(subscribe);
  begun[0]?.end();
  await first;
  begun[1]?.fail(new Error('a defect'));
  await expect(waiting).rejects.toThrow('a defect');
});
