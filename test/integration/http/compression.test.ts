/**
 * Answers in the encodings that clients accept.
 */
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCompression, encodingFor } from '../../../src/http/server/compression.ts';
import { startServer, type TestServer } from '../../support/http/httpServer.ts';

const LARGE = getIntrospectionQuery();
const DECODERS: Record<string, (body: Buffer) => Buffer> = { br: brotliDecompressSync, gzip: gunzipSync };

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ allowedOrigins: '*' });
});
afterAll(() => server.close(0));

function send(url: string, headers: Record<string, string>, body = ''): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', headers }, resolve);
    request.on('error', reject);
    request.end(body);
  });
}

async function bodyOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function ask(query: string, headers: Record<string, string> = {}) {
  const type = { 'content-type': 'application/json' };
  const response = await send(`${server.url}/graphql`, { ...type, ...headers }, JSON.stringify({ query }));
  return { headers: response.headers, body: await bodyOf(response) };
}

function decoded({ headers, body }: { headers: IncomingHttpHeaders; body: Buffer }): unknown {
  const encoding = headers['content-encoding'];
  return JSON.parse(String(encoding === undefined ? body : DECODERS[encoding]?.(body)));
}

describe('a large answer', () => {
  it.each([
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['*', 'br'],
    ['identity', undefined],
    ['deflate', undefined],
    ['br;q=0, gzip;q=0', undefined],
  ])('is sent to who accepts %s in %s', async (accepted, encoding) => {
    const plain = await ask(LARGE);
    const answer = await ask(LARGE, { 'accept-encoding': accepted });
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(decoded(answer)).toEqual(JSON.parse(String(plain.body)));
    if (encoding === undefined) return;
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
    expect(answer.body.length).toBeLessThan(plain.body.length / 4);
  });

  it('says that it depends on what is accepted, also beside what CORS says', async () => {
    const headers = { 'accept-encoding': 'br', origin: 'https://app.example' };
    expect((await ask(LARGE, headers)).headers.vary).toMatch(/Accept-Encoding/);
    expect((await ask(LARGE)).headers.vary).toMatch(/Accept-Encoding/);
  });

  it('keeps its status, and all that the server says of it', async () => {
    const { headers, body } = await ask(`{ ${'hello '.repeat(500)} nothing }`.padEnd(5_000), {
      'accept-encoding': 'gzip',
      accept: 'application/graphql-response+json',
    });
    expect(headers['x-request-id']).toBeDefined();
    expect(headers['ratelimit']).toBeDefined();
    expect(decoded({ headers, body })).toMatchObject({ errors: [{}] });
  });
});

describe('what is sent plain', () => {
  it('is a small answer', async () => {
    const { headers, body } = await ask('{ hello }', { 'accept-encoding': 'br' });
    expect(headers['content-encoding']).toBeUndefined();
    expect(headers['content-length']).toBe(String(body.length));
    expect(JSON.parse(String(body))).toMatchObject({ data: { hello: 'world' } });
  });

  it('is an event stream, whose events come one by one', async () => {
    const response = await send(
      `${server.url}/graphql`,
      { 'content-type': 'application/json', accept: 'text/event-stream', 'accept-encoding': 'br' },
      JSON.stringify({ query: 'subscription { ticks(count: 1, bytes: 5000, wait: true) }' }),
    );
    let text = '';
    // The stream stays open, so the event has come at once.
    for await (const chunk of response as AsyncIterable<Buffer>) {
      text += chunk.toString();
      if (text.includes('event: next')) break;
    }
    expect(response.headers['content-encoding']).not.toBe('br');
  });

  it('is an answer beyond those that are compressed at a time, unless it was compressed before', async () => {
    const compress = createCompression();
    const body = JSON.stringify({ text: 'x'.repeat(500_000) });
    let waiting: (() => void)[] = [];
    const many = createServer((request, response) => {
      compress(request, response);
      waiting.push(() => {
        response.writeHead(201, { 'content-type': 'application/json', 'content-length': body.length });
        response.write(body.slice(0, 10));
        response.end(body.slice(10));
      });
      // All are answered in one turn, so none is done before the last one begins.
      if (waiting.length < 5) return;
      for (const answer of waiting) answer();
      waiting = [];
    }).listen(0, '127.0.0.1');
    await once(many, 'listening');
    const url = `http://127.0.0.1:${(many.address() as AddressInfo).port}`;
    const ask5 = () =>
      Promise.all(
        Array.from({ length: 5 }, async () => {
          const response = await send(url, { 'accept-encoding': 'gzip' });
          const { headers, statusCode } = response;
          return { headers, statusCode, body: await bodyOf(response) };
        }),
      );
    for (const compressed of [2, 5]) {
      const answers = await ask5();
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201, 201, 201, 201]);
      for (const answer of answers) expect(decoded(answer)).toEqual(JSON.parse(body));
      expect(answers.filter(({ headers }) => headers['content-encoding'] === 'gzip')).toHaveLength(
        compressed,
      );
    }
    many.close();
  });
});

it.each([
  [undefined, null],
  ['', null],
  ['gzip;q=x', null],
  ['GZIP', 'gzip'],
  ['gzip; q=1.0, *;q=0', 'gzip'],
])('takes the encoding from %j: %s', (accepted, encoding) => {
  expect(encodingFor(accepted)).toBe(encoding);
});
