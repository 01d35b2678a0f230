/**
 * POSTs JSON to a program of this machine. `fetch` takes four times the processor time, and tests make thousands of
 * these calls.
 */
import { Agent, request } from 'node:http';

/** Connections stay open from call to call; idle ones keep no process alive. */
const agent = new Agent({ keepAlive: true });

/** What is answered, whatever its status. @throws Error when the other side is away, silent for this long, or sends no JSON */
export async function postJson(url: string, body: unknown, silenceMs: number): Promise<unknown> {
  const sent = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) };
  const answer = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    const asked = request(url, { method: 'POST', agent, headers, timeout: silenceMs }, (response) => {
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve(Buffer.concat(chunks));
      });
    });
    asked.on('timeout', () => asked.destroy(new Error(`${url} did not answer in time`)));
    asked.on('error', reject);
    asked.end(sent);
  });
  return JSON.parse(answer.toString()) as unknown;
}
