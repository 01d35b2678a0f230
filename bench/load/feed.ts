/**
 * Thousands of websocket clients in one process, by hand over plain sockets. Each only counts its events.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { FeedArrival, FeedJob, LoadCalls } from './messages.ts';

/** Number of sockets that are opened at a time. */
const OPENED_AT_ONCE = 100;
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
/**
 * Number of loopback addresses of the clients. Each has its own ports, and ports of connections that were
 * closed within the last minute are taken. With few addresses, the kernel searches for milliseconds for each
 * connection.
 */
const LOCAL_ADDRESSES = 32;

interface FeedClients {
  open(job: FeedJob): Promise<LoadCalls['openFeed']['output']>;
  await(input: { events: number }): Promise<{ arrivals: FeedArrival[] }>;
  close(): Promise<{ closed: number }>;
}

export function createFeedClients(): FeedClients {
  const sockets = new Set<Socket>();
  /** How many events each socket has received, and when and at how many sockets each event arrived. */
  let received: number[] = [];
  let arrivals: (FeedArrival & { sockets: number })[] = [];
  let waiting: { events: number; done: () => void } | undefined;
  const isComplete = (events: number) =>
    arrivals.length >= events && arrivals.slice(0, events).every((a) => a.sockets === received.length);
  const arrive = (number: number) => {
    const nowMs = performance.timeOrigin + performance.now();
    const nth = received[number] ?? 0;
    received[number] = nth + 1;
    const arrival = (arrivals[nth] ??= { firstMs: nowMs, lastMs: nowMs, sockets: 0 });
    arrival.lastMs = nowMs;
    arrival.sockets += 1;
    if (waiting && arrival.sockets === received.length && isComplete(waiting.events)) waiting.done();
  };
  return {
    async open(job) {
      const startedMs = performance.now();
      for (let opened = 0; opened < job.sockets; opened += OPENED_AT_ONCE) {
        const count = Math.min(OPENED_AT_ONCE, job.sockets - opened);
        await Promise.all(
          Array.from({ length: count }, async () => {
            const number = received.push(0) - 1;
            sockets.add(await openSocket(job, number, () => arrive(number)));
          }),
        );
      }
      return { openedMs: performance.now() - startedMs };
    },
    async await({ events }) {
      if (!isComplete(events)) await new Promise<void>((done) => (waiting = { events, done }));
      waiting = undefined;
      const whole = arrivals.slice(0, events).map(({ firstMs, lastMs }) => ({ firstMs, lastMs }));
      received = received.map((count) => count - events);
      arrivals = arrivals.slice(events);
      return { arrivals: whole };
    },
    async close() {
      const closed = sockets.size;
      for (const socket of sockets) socket.destroy();
      sockets.clear();
      received = [];
      arrivals = [];
      return { closed };
    },
  };
}

/** Resolves when the server has accepted the subscription, as far as the protocol shows that. */
function openSocket(job: FeedJob, number: number, onEvent: () => void): Promise<Socket> {
  const { subscription } = job;
  return new Promise((resolve, reject) => {
    const localAddress = `127.0.0.${1 + (number % LOCAL_ADDRESSES)}`;
    const socket = connect({ port: job.port, host: '127.0.0.1', localAddress });
    socket.setNoDelay(true);
    const protocol = subscription ? `sec-websocket-protocol: ${subscription.protocol}\r\n` : '';
    const key = randomBytes(16).toString('base64');
    socket.write(
      `GET ${job.path} HTTP/1.1\r\nhost: 127.0.0.1:${job.port}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
        `sec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n${protocol}\r\n`,
    );
    let rest: Buffer | null = null;
    let isUpgraded = false;
    const onText = (text: string) => {
      if (text.includes('"type":"connection_ack"')) {
        socket.write(frame(TEXT, subscription?.subscribe ?? ''));
        resolve(socket);
      } else if (text.includes('"type":"next"')) onEvent();
      else reject(new Error(`a subscriber received ${text.slice(0, 500)}`));
    };
    const upgraded = (head: string) => {
      if (!head.startsWith('HTTP/1.1 101')) reject(new Error(`a websocket was refused: ${head}`));
      isUpgraded = true;
      if (subscription) socket.write(frame(TEXT, subscription.init));
      else resolve(socket);
    };
    socket.on('data', (data: Buffer) => {
      let buffer: Buffer = rest === null ? data : Buffer.concat([rest, data]);
      if (!isUpgraded) {
        const end = buffer.indexOf('\r\n\r\n');
        if (end === -1) {
          rest = buffer;
          return;
        }
        upgraded(buffer.toString('latin1', 0, end));
        buffer = buffer.subarray(end + 4);
      }
      const used = readFrames(buffer, (opcode, payload) => {
        if (opcode === TEXT) onText(payload.toString('latin1'));
        else if (opcode === PING) socket.write(frame(PONG, payload.toString('latin1')));
        else if (opcode === CLOSE) reject(new Error(`the server closed: ${payload.toString('latin1', 2)}`));
      });
      rest = used === buffer.length ? null : Buffer.from(buffer.subarray(used));
    });
    socket.on('error', reject);
  });
}

/** @returns the bytes of the whole frames. Servers do not mask frames, and each message fits one frame. */
function readFrames(buffer: Buffer, onFrame: (opcode: number, payload: Buffer) => void): number {
  let at = 0;
  while (buffer.length - at >= 2) {
    const short = (buffer[at + 1] ?? 0) & 0x7f;
    const headBytes = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (buffer.length - at < headBytes) break;
    const length =
      short === 126
        ? buffer.readUInt16BE(at + 2)
        : short === 127
          ? Number(buffer.readBigUInt64BE(at + 2))
          : short;
    if (buffer.length - at < headBytes + length) break;
    onFrame((buffer[at] ?? 0) & 0x0f, buffer.subarray(at + headBytes, at + headBytes + length));
    at += headBytes + length;
  }
  return at;
}

/** Masks with zeros, which leaves the text as it is. */
function frame(opcode: number, text: string): Buffer {
  const payload = Buffer.from(text);
  const isShort = payload.length < 126;
  const head = Buffer.alloc(isShort ? 6 : 8);
  head[0] = 0x80 | opcode;
  if (isShort) head[1] = 0x80 | payload.length;
  else {
    head[1] = 0x80 | 126;
    head.writeUInt16BE(payload.length, 2);
  }
  return Buffer.concat([head, payload]);
}
