/**
 * An indexer's REST interface: the requests that the product sends to deployed indexers.
 *
 *   POST /webhooks { url, events }   → 201 { id, url, events, secret, createdAt }
 *   GET /webhooks                    → 200 { webhooks: [{ id, url, events, createdAt }] }
 *   DELETE /webhooks/{id}            → 200 { removed }
 *   GET /health                      → 200 { ok: true }
 */
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { parseJson } from '../../lib/parseJson.ts';
import { readBody } from '../../lib/readBody.ts';
import { MAX_REGISTRATIONS } from './store.ts';
import type { IndexerStore, Registration } from './store.ts';

export interface Answer {
  status: number;
  body: unknown;
}

/** A registration is an address and a list of event types. */
const MAX_BODY_BYTES = 16 * 1024;

const registrationSchema = z.object({
  url: z.url({ protocol: /^https?$/ }).max(2048),
  events: z.array(z.string().min(1).max(64)).min(1).max(50),
});

export async function answerRequest(store: IndexerStore, request: IncomingMessage): Promise<Answer> {
  const url = new URL(request.url ?? '/', 'http://indexer');
  const [, collection, id, ...rest] = url.pathname.split('/');
  if (rest.length === 0) {
    switch (`${request.method} /${collection}${id === undefined ? '' : '/{id}'}`) {
      case 'POST /webhooks':
        return register(store, request);
      case 'GET /webhooks':
        return { status: 200, body: { webhooks: (await store.listRegistrations()).map(withoutSecret) } };
      case 'DELETE /webhooks/{id}':
        return { status: 200, body: { removed: await store.removeRegistration(id ?? '') } };
      case 'GET /health':
        await store.check();
        return { status: 200, body: { ok: true } };
    }
  }
  return refusal(404, `There is no ${request.method} ${url.pathname}`);
}

async function register(store: IndexerStore, request: IncomingMessage): Promise<Answer> {
  // A web page in a browser on this machine can post text to loopback, but not JSON.
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    return refusal(415, 'A registration is sent as application/json');
  }
  const rawBody = await readBody(request, MAX_BODY_BYTES);
  if (!rawBody) return refusal(413, `The body is longer than ${MAX_BODY_BYTES} bytes`);
  const wanted = registrationSchema.safeParse(parseJson(rawBody.toString('utf8')));
  if (!wanted.success) return refusal(400, z.prettifyError(wanted.error));
  const added = await store.addRegistration(wanted.data);
  if (!added) return refusal(409, `There are ${MAX_REGISTRATIONS} registrations already; delete one first`);
  return { status: 201, body: { ...withoutSecret(added), secret: added.secret } };
}

function withoutSecret({ id, url, events, createdAt }: Registration): Record<string, unknown> {
  return { id, url, events, createdAt: Number(createdAt) };
}

function refusal(status: number, error: string): Answer {
  return { status, body: { error } };
}
