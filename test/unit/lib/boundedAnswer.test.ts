/**
 * An answer that never ends is given up in its time, also when garbage is collected while it is read.
 */
import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listenLocally, type LocalServer } from '../../../devnet/listenLocally.ts';
import { createExchange } from '../../../src/ledger/network/jsonRpc.ts';
import { collectGarbage } from '../../support/heap.ts';

let server: LocalServer;
beforeAll(async () => {
  server = await listenLocally(
    createServer((request, response) => {
      request.resume();
      response.writeHead(200).flushHeaders();
      const drops = setInterval(() => request.url === '/drops' && response.write(' '), 20);
      response.on('close', () => clearInterval(drops));
    }),
  );
});
afterAll(() => server.close());

it.each(['/drops', '/silence'])('gives up an answer of %s in its time', async (path) => {
  const exchange = createExchange({ url: `${server.url}${path}`, timeoutMs: 500, maxAnswerBytes: 1_000_000 });
  const collecting = setInterval(collectGarbage, 50);
  try {
    const asked = exchange.askAlone({ method: 'getHealth', params: null, read: String });
    await expect(asked).rejects.toThrow('aborted due to timeout');
  } finally {
    clearInterval(collecting);
  }
});
