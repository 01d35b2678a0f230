/**
 * A real HTTP server that keeps the raw deliveries it receives.
 */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { listenLocally, type LocalServer } from '../../../devnet/listenLocally.ts';

export interface Delivered {
  path: string;
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
}

export interface WebhookReceiver extends LocalServer {
  delivered: Delivered[];
  /** Number of deliveries that began, including those whose response is withheld. */
  begun(): number;
}

/** @param answer the status to answer with, or null to leave the sender waiting */
export async function startWebhookReceiver(answer: number | null = 200): Promise<WebhookReceiver> {
  const delivered: Delivered[] = [];
  let begun = 0;
  const server = createServer((request, response) => {
    begun += 1;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      delivered.push({ path, headers, rawBody: Buffer.concat(chunks) });
      if (answer !== null) response.writeHead(answer).end('thank you');
    });
  });
  const { url, close } = await listenLocally(server);
  return { url: `${url}/hook`, delivered, begun: () => begun, close };
}
