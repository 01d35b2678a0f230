/**
 * The client of an indexer's REST interface, embedded or deployed.
 *
 * Answers are checked, and bounded in size and time; every failure is INDEXER_UNAVAILABLE.
 */
import * as z from 'zod';
import { readBounded } from '../lib/boundedAnswer.ts';
import { DomainError, messageWithCause } from '../lib/errors.ts';

interface RegisteredWebhook {
  id: string;
  url: string;
  events: string[];
}

/** An event as the indexer stores it; `data` is positional and differs by event. */
export interface IndexedEvent {
  id: string;
  contract: string;
  eventType: string;
  ledger: number;
  txHash: string;
  /** Unix seconds. */
  timestamp: number;
  data: { topics: unknown[]; value: unknown };
}

/** Every method throws DomainError INDEXER_UNAVAILABLE. */
export interface IndexerClient {
  /** Only this answer contains the secret: store it. */
  registerWebhook(url: string, events: readonly string[]): Promise<RegisteredWebhook & { secret: string }>;
  listWebhooks(): Promise<RegisteredWebhook[]>;
  /** False when there is no such registration. */
  deleteWebhook(id: string): Promise<boolean>;
  health(): Promise<{ ok: boolean }>;
}

/** Registrations are a few hundred bytes each. */
const MAX_ANSWER_BYTES = 256 * 1024;

const registrationSchema = z.object({
  // `.` and `..` would lead to other paths, however they are encoded: a registration is removed by its own.
  id: z
    .string()
    .min(1)
    .max(256)
    .regex(/^(?!\.\.?$)/),
  url: z.string(),
  events: z.array(z.string()),
});
const registeredSchema = registrationSchema.extend({ secret: z.string().min(1).max(1024) });
/** Indexers in use answer in either form. */
const listSchema = z.union([
  z.array(registrationSchema),
  z.object({ webhooks: z.array(registrationSchema) }).transform((answer) => answer.webhooks),
]);
const removedSchema = z.object({ removed: z.boolean() });
const healthSchema = z.object({ ok: z.boolean() });

interface Question<T> {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: unknown;
  schema: z.ZodType<T>;
  /** The result for status 404, when it is not a failure. */
  notFound?: T;
}

/** `url` is the indexer's base address, with or without a path; null when none is configured. */
export function createIndexerClient(options: {
  url: string | null;
  /** The bearer token, if the indexer asks for one. */
  token?: string | undefined;
  fetch: typeof fetch;
  timeoutMs: number;
}): IndexerClient {
  const base = options.url === null || options.url.endsWith('/') ? options.url : `${options.url}/`;

  const authorization: Record<string, string> =
    options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };

  async function ask<T>(question: Question<T>): Promise<T> {
    if (base === null) throw noIndexer();
    try {
      const signal = AbortSignal.timeout(options.timeoutMs);
      const response = await options.fetch(new URL(question.path, base), {
        method: question.method,
        redirect: 'error',
        signal,
        headers: { accept: 'application/json', 'content-type': 'application/json', ...authorization },
        ...(question.body === undefined ? {} : { body: JSON.stringify(question.body) }),
      });
      const text = await readBounded(response, MAX_ANSWER_BYTES, signal);
      if (response.status === 404 && question.notFound !== undefined) return question.notFound;
      if (!response.ok) throw new Error(`it answered with status ${response.status}`);
      return question.schema.parse(JSON.parse(text));
    } catch (error) {
      throw new DomainError(
        'INDEXER_UNAVAILABLE',
        `The indexer could not be asked (${question.method} /${question.path}): ${explain(error)}`,
        {},
        { cause: error },
      );
    }
  }

  return {
    registerWebhook: (url, events) =>
      ask({ method: 'POST', path: 'webhooks', body: { url, events }, schema: registeredSchema }),
    listWebhooks: () => ask({ method: 'GET', path: 'webhooks', schema: listSchema }),
    async deleteWebhook(id) {
      const path = `webhooks/${encodeURIComponent(id)}`;
      const notFound = { removed: false };
      return (await ask({ method: 'DELETE', path, schema: removedSchema, notFound })).removed;
    },
    health: () => ask({ method: 'GET', path: 'health', schema: healthSchema }),
  };
}

function noIndexer(): DomainError {
  return new DomainError(
    'INDEXER_UNAVAILABLE',
    'No indexer is configured. Set INDEXER_URL to one that follows this network; until then the feed finds ' +
      'retirements by looking at every token itself.',
  );
}

function explain(error: unknown): string {
  if (error instanceof z.ZodError) return `its answer has an unknown form: ${z.prettifyError(error)}`;
  return messageWithCause(error);
}
