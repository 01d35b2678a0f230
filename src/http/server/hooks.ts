/**
 * Webhook endpoints for the indexer and the ramp provider. The handler gets the raw bytes; the sender always gets 200
 * with an empty body: it does not retry, and must not learn the outcome.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../lib/logger.ts';
import { readBody } from '../../lib/readBody.ts';

/** Deliveries carry one event of a few hundred bytes. */
const MAX_HOOK_BYTES = 256 * 1024;
/** Senders time out after a few seconds; the handler continues after the answer. */
const MAX_HANDLING_MS = 10_000;

export interface HookDelivery {
  /** Unparsed, so that a signature can be checked over it. */
  body: Buffer;
  headers: IncomingHttpHeaders;
  requestId: string;
  remoteAddress: string;
}

export type HookHandler = (delivery: HookDelivery) => Promise<void>;

export async function answerHook(
  request: IncomingMessage,
  response: ServerResponse,
  handler: HookHandler,
  about: { requestId: string; remoteAddress: string },
  log: Pick<Logger, 'error' | 'warn'>,
): Promise<void> {
  const body = await readBody(request, MAX_HOOK_BYTES);
  if (body === null) {
    log.warn(
      { ...about, path: request.url, maxBytes: MAX_HOOK_BYTES },
      'a delivery was too large and was dropped',
    );
    response.setHeader('connection', 'close');
  } else {
    const handled = handler({ body, headers: request.headers, ...about }).catch((error: unknown) => {
      log.error({ ...about, path: request.url, err: error }, 'a delivery could not be handled');
    });
    const patience = new AbortController();
    await Promise.race([
      handled,
      delay(MAX_HANDLING_MS, undefined, { signal: patience.signal }).catch(() => undefined),
    ]);
    patience.abort();
  }
  response.writeHead(200, { 'content-length': '0' });
  response.end();
}
