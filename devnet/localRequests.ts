/**
 * Asks a server on this machine. `fetch` takes four times as much processor time, and tests and their proxies
 * ask thousands of times.
 */
import { Agent, request } from 'node:http';

interface Passed {
  method?: string | undefined;
  headers?: Record<string, string>;
  body?: string | undefined;
  /** Milliseconds without data after which the request fails, for a server that hangs. */
  silenceMs?: number;
}

interface PassedAnswer {
  status: number;
  text: string;
}

/** Connections stay open between requests; idle ones keep no process alive. */
const agent = new Agent({ keepAlive: true });

/** @throws when there is no complete answer */
export function passOn(
  url: URL | string,
  { method = 'GET', headers = {}, body, silenceMs }: Passed,
): Promise<PassedAnswer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const options = { method, agent, headers: { ...headers, ...length }, timeout: silenceMs };
    const passed = request(url, options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      answer.on('end', () => {
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    passed.on('timeout', () => passed.destroy(new Error(`${String(url)} did not answer in time`)));
    passed.on('error', reject).end(body);
  });
}

/** A local server that does not answer in this time hangs. */
const SILENCE_MS = 10_000;

/** The answer to a POST of JSON, whatever its status. @throws also when the answer is not JSON */
export async function postJson(
  url: string,
  question: unknown,
  silenceMs: number = SILENCE_MS,
): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const { text } = await passOn(url, { method: 'POST', headers, body: JSON.stringify(question), silenceMs });
  return JSON.parse(text) as unknown;
}
