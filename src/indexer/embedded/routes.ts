/**
 * An indexer's REST interface, as deployed ones have it.
 *
 *   POST /webhooks { url, events }   → 201 { id, url, events, secret, createdAt }
 *   GET /webhooks                    → 200 { webhooks: [{ id, url, events, createdAt }] }
 *   DELETE /webhooks/{id}            → 200 { removed }
 *   GET /events?contract=&type=&since=&limit=  → 200 { events: [IndexedEvent] }, oldest first
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
const DEFAULT_EVENTS = 100;
const MAX_EVENTS = 500;

const registrationSchema = z.object({
  url: z.url({ protocol: /^https?$/ }).max(2048),
  events: z.array(z.string().min(1).max(64)).min(1).max(50),
});

const eventQuerySchema = z.object({
  contract: z.string().max(128).optional(),
  type: z.string().max(64).optional(),
  since: z.coerce.number().int().min(0).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_EVENTS).default(DEFAULT_EVENTS),
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
      case 'GET /events':
        return events(store, url.searchParams);
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

async function events(store: IndexerStore, parameters: URLSearchParams): Promise<Answer> {
  // `?contract=&type=` is the documented form: an empty parameter is no filter.
  const given = [...parameters].filter(([, value]) => value !== '');
  const query = eventQuerySchema.safeParse(Object.fromEntries(given));
  if (!query.success) return refusal(400, z.prettifyError(query.error));
  return { status: 200, body: { events: await store.readEvents(query.data) } };
}

function withoutSecret({ id, url, events: wanted, createdAt }: Registration): Record<string, unknown> {
  return { id, url, events: wanted, createdAt: Number(createdAt) };
}

function refusal(status: number, error: string): Answer {
  return { status, body: { error } };
}
