/**
 * Bodies in the ways a connection delivers them: with their headers or after them, in one packet or several,
 * and many requests at once.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { readBody } from '../../../src/lib/readBody.ts';
import { startServer, until } from '../../support/http/httpServer.ts';

const JSON_TYPE = 'host: server\r\ncontent-type: application/json\r\n';

function sized(body: string, headers = JSON_TYPE, version = '1.1'): string {
  return `POST /graphql HTTP/${version}\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** @param parts must not be empty */
function chunked(...parts: string[]): string {
  const chunks = parts.map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`);
  return `POST /graphql HTTP/1.1\r\n${JSON_TYPE}transfer-encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`;
}

interface Connection {
  socket: Socket;
  text(): string;
}

async function open(port: number): Promise<Connection> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return { socket, text: () => received };
}

const askFor = (amount: number, padding = 0) =>
  JSON.stringify({
    query: 'query T($a: Tonnes!) { tonnes(amount: $a) }',
    variables: { a: String(amount) },
  }) + ' '.repeat(padding);

const amountsIn = (text: string) =>
  [...text.matchAll(/"tonnes":"(\d+)"/g)].map(([, amount]) => Number(amount));

it('that come sixteen at once are each answered to its own request, in their order', async () => {
  const server = await startServer();
  onTestFinished(() => server.close(0));
  const { socket, text } = await open(server.port);
  const forms: ((body: string) => string)[] = [
    sized,
    (body) => chunked(body),
    (body) => chunked(body.slice(0, 10), body.slice(10)),
    (body) => sized(body + ' '.repeat(30_000)),
    // This form goes to yoga.
    (body) => sized(body, `${JSON_TYPE}origin: http://server\r\n`),
  ];
  const expected: number[] = [];
  // The first request of a document takes another way than the next ones; the connection goes on each time.
  for (let turn = 0; turn < 3; turn++) {
    const amounts = Array.from({ length: 16 }, (_, i) => 100 * turn + i + 1);
    socket.write(amounts.map((amount, i) => forms[i % forms.length]?.(askFor(amount)) ?? '').join(''));
    expected.push(...amounts);
    await until(() => amountsIn(text()).length >= expected.length || socket.destroyed);
  }
  expect(amountsIn(text())).toEqual(expected);
});

it('of every size and form leave a connection that goes on', async () => {
  const server = await startServer();
  onTestFinished(() => server.close(0));
  const { socket, text } = await open(server.port);
  const answers = () =>
    text()
      .split(/HTTP\/1.1 (?!100)/)
      .slice(1);
  const statusOf = async (...packets: string[]) => {
    const before = answers().length;
    for (const packet of packets) {
      socket.write(packet);
      await delay(20);
    }
    await until(() => answers().length > before || socket.destroyed);
    return answers().at(-1)?.slice(0, 3);
  };
  const body = askFor(7);
  for (let turn = 0; turn < 2; turn++) {
    expect(await statusOf(sized(''))).toBe('400');
    expect(await statusOf(chunked())).toBe('400');
    expect(await statusOf(sized(body))).toBe('200');
    const request = sized(body);
    expect(await statusOf(request.slice(0, -20), request.slice(-20))).toBe('200');
    expect(await statusOf(sized(askFor(7, 99_000)))).toBe('200');
    expect(await statusOf(sized(body, `${JSON_TYPE}expect: 100-continue\r\n`))).toBe('200');
  }
  expect(amountsIn(text())).toEqual(Array(8).fill(7));
  expect(await statusOf(sized(askFor(7, 200_000)))).toBe('413');
});

it('of HTTP/1.0 are read, and the connection ends with the answer', async () => {
  const server = await startServer();
  onTestFinished(() => server.close(0));
  const { socket, text } = await open(server.port);
  socket.write(sized(askFor(7), JSON_TYPE, '1.0'));
  await once(socket, 'end');
  expect(amountsIn(text())).toEqual([7]);
});

/**
 * Answers with a body that is read only after it has arrived.
 * @param prepare runs before the body is read
 */
async function readLate(prepare: (request: IncomingMessage) => void): Promise<number> {
  const server = createServer((request, response) => {
    void until(() => request.complete)
      .then(() => prepare(request))
      .then(() => readBody(request, 50_000))
      .then((body) => response.end(`<${body === null ? 'too large' : body.toString()}>`));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

it.each([
  ['at once', () => undefined],
  [
    'piece by piece, as from Node 26 on',
    (request: IncomingMessage) => {
      const read = request.read.bind(request) as (bytes?: number) => unknown;
      request.read = () => read(Math.min(1_000, request.readableLength) || undefined);
    },
  ],
])('that have come whole in several packets are read whole, %s', async (_how, prepare) => {
  const { socket, text } = await open(await readLate(prepare));
  const body = 'abcdefghij'.repeat(1_000);
  socket.write(sized(body).slice(0, -5_000));
  await delay(30);
  socket.write(
    body.slice(-5_000) + chunked('one', 'two') + sized('') + chunked('x'.repeat(50_001)) + sized('last'),
  );
  await until(() => text().includes('<last>'));
  expect([...text().matchAll(/<([^>]*)>/g)].map(([, answer]) => answer)).toEqual([
    body,
    'onetwo',
    '',
    'too large',
    'last',
  ]);
});
