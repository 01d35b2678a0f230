/**
 * A real HTTP server that keeps what is delivered to it, raw.
 */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';

export interface Delivered {
  path: string;
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
}

export interface WebhookReceiver {
  url: string;
  delivered: Delivered[];
  /** Deliveries that began, also those whose answer is withheld. */
  begun(): number;
  close(): Promise<void>;
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The receiver has no port');
  return {
    url: `http://127.0.0.1:${address.port}/hook`,
    delivered,
    begun: () => begun,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
