/**
 * A server with the test's own limits, and clients at several addresses.
 */
import { request as httpRequest } from 'node:http';
import { afterEach, onTestFinished, vi } from 'vitest';
import { silentLog } from '../../../devnet/platform.ts';
import type { HttpServerOptions } from '../../../src/http/server/server.ts';
import type { Limits } from '../../../src/limits/limits.ts';
import { createRateLimits } from '../../../src/limits/rateLimits.ts';
import { startServer, testLimits, type TestServer } from './httpServer.ts';

const servers: TestServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close(0);
});

/** Starts a server that closes at the end of its test. */
export async function serveWith(limits: Partial<Limits>, overrides: Partial<HttpServerOptions> = {}) {
  const server = await startServer({ limits: { ...testLimits(), ...limits }, ...overrides });
  servers.push(server);
  return { ...server, api: `${server.url}/graphql` };
}

/**
 * Starts a server whose clock stands still until the end of the test, and whose addresses may compute for 25
 * ms: at a running clock a slow machine's requests would get the budget back. Requests do not rest after
 * computing, because no rest would end.
 */
export function serveWithoutRefill(overrides: Partial<HttpServerOptions> = {}) {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const cpuThrottle = { charge: () => undefined, awaitTurn: () => null };
  const settings = { ...testLimits(), MAX_CPU_PERCENT_PER_ADDRESS: 1 };
  return serveWith(
    {},
    { ...overrides, rateLimits: createRateLimits(settings, null, silentLog, { cpuThrottle }) },
  );
}

/** Returns the status that a client at another address of this machine receives. */
export function statusFrom(localAddress: string, url: string, authorization?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}?query=%7Bhello%7D`, {
      localAddress,
      headers: authorization === undefined ? {} : { authorization },
    });
    request.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject);
    request.end();
  });
}

/** Sends with node:http, which sends the headers unchanged. */
export function post(url: string, body: string, headers: Record<string, string>) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.once('error', reject);
    request.end(body);
  });
}

export const HELLO = { query: '{ hello }' };
