/**
 * The logs' files over HTTP: what their readers get, and what they take.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { BYTES_PER_MS } from '../../../../src/http/graphql/answerLimits.ts';
import type { Exchange } from '../../../../src/http/server/exchange.ts';
import { answerLogFile, type ReadLogFile } from '../../../../src/http/server/logFiles.ts';

const BODY = Buffer.alloc(3 * BYTES_PER_MS);

async function asked(method: string, read: ReadLogFile) {
  const used: string[] = [];
  const services = {
    read,
    places: { take: async (key: string) => (used.push(`take ${key}`), () => void used.push('give back')) },
    chargeCpu: (address: string, ms: number) => void used.push(`charge ${address} ${ms} ms`),
  };
  const server = createServer((request, response) => {
    const exchange = { request, response, remoteAddress: '192.0.2.1' } as unknown as Exchange;
    answerLogFile(exchange, request.url ?? '', services).catch(() => response.writeHead(500).end());
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/logs/audit/key`;
  const answer = await fetch(url, { method });
  const { byteLength } = await answer.arrayBuffer();
  return { used, status: answer.status, headers: Object.fromEntries(answer.headers), byteLength };
}

const found: ReadLogFile = async (path) =>
  path === 'audit/key' ? { body: BODY, contentType: 'text/plain', keptSeconds: 2 } : null;

it.each([
  ['GET', BODY.length],
  ['HEAD', 0],
])('answers %s to pages of all origins, and charges the reader', async (method, byteLength) => {
  const { headers, ...rest } = await asked(method, found);
  expect(headers).toMatchObject({
    'content-type': 'text/plain',
    'content-length': String(BODY.length),
    'cache-control': 'public, max-age=2',
    'access-control-allow-origin': '*',
  });
  const used = ['take 192.0.2.1', 'give back', 'charge 192.0.2.1 3 ms'];
  expect(rest).toEqual({ used, status: 200, byteLength });
});

it.each<[string, number, ReadLogFile]>([
  ['that is not there', 404, async () => null],
  ['that can not be read', 500, () => Promise.reject(new Error('gone'))],
])('gives the place back after a file %s', async (_what, status, read) => {
  expect(await asked('GET', read)).toMatchObject({ status, used: ['take 192.0.2.1', 'give back'] });
});

it('takes no place for another method, and names those that there are', async () => {
  const { status, headers, used } = await asked('POST', found);
  expect([status, headers['allow'], used]).toEqual([405, 'GET, HEAD', []]);
});
