/**
 * The websocket library of clients reads the frames that events are sent in.
 */
import type { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import * as library from 'ws';
import { textFrame } from '../../../../src/http/server/socketIo.ts';

/** The types of ws leave out Receiver. */
const { Receiver } = library as unknown as {
  Receiver: new (options: { isServer: boolean; allowSynchronousEvents: boolean }) => Writable;
};

/** Returns the texts of the messages that a client reads from these bytes. */
function read(bytes: Buffer): Promise<string[]> {
  const texts: string[] = [];
  const receiver = new Receiver({ isServer: false, allowSynchronousEvents: true });
  receiver.on('message', (data: Buffer) => texts.push(data.toString()));
  return new Promise((resolve, reject) => {
    receiver.on('error', reject);
    receiver.end(bytes, () => resolve(texts));
  });
}

const bytesOf = (text: string) => Buffer.from(text).toString('latin1');

it.each([0, 1, 120, 125, 126, 127, 65_535, 65_536, 200_000])(
  'holds a text of %i bytes and more, whole, and the next frame after it',
  async (length) => {
    const head = '{"id":"ä€𝄞","payload":';
    const tail = `"${'x'.repeat(length)}é"}`;
    const frames = textFrame(bytesOf(head), bytesOf(tail)) + textFrame('', bytesOf('next'));
    expect(await read(Buffer.from(frames, 'latin1'))).toEqual([head + tail, 'next']);
  },
);

it.each([125, 126, 65_535, 65_536])('has the shortest header for exactly %i bytes', async (length) => {
  const frame = Buffer.from(textFrame('', 'x'.repeat(length)), 'latin1');
  expect(frame.length - length).toBe(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  expect(await read(frame)).toEqual(['x'.repeat(length)]);
});
