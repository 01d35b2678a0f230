/**
 * Sends requests to a ramp provider: each has a time-out and a limit to its answer, whose form is checked.
 *
 * A refusal (status 400 to 499) is final; every other answer that is not well-formed leaves the payout
 * unknown.
 */
import * as z from 'zod';
import { readBounded } from '../../lib/boundedAnswer.ts';
import { DomainError, messageOf } from '../../lib/errors.ts';
import { parseJson } from '../../lib/parseJson.ts';
import { pauseAskedForMs } from '../../lib/retryAfter.ts';
import type { RequestThrottle } from './requestThrottle.ts';

export interface TransportOptions {
  /** Base address, with or without a path. */
  url: string;
  apiKey: string;
  fetch: typeof fetch;
  timeoutMs: number;
  throttle: RequestThrottle;
}

/** A payout is a few hundred bytes; a look-up by reference answers with a few payouts. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** Maximum members named in an error; a quote has fewer. */
const MAX_NAMED_MEMBERS = 10;
/** Statuses that say nothing about the payout: wrong key, too many requests, or trouble at the provider. */
const NO_REFUSAL = new Set([401, 403, 407, 408, 425, 429]);

/** Only machine-readable reasons are passed on, and none with as many digits in a row as account numbers. */
const refusalSchema = z.object({ code: z.string().regex(/^(?!.*\d{8})[A-Za-z0-9_.-]{1,64}$/) });

interface Question<T> {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  schema: z.ZodType<T>;
}

/** The provider refused, finally; the caller turns it into an error of its operation. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Transport {
  /** @throws Refused, DomainError RAMP_UNAVAILABLE */
  ask<T>(question: Question<T>): Promise<T>;
  /** Asks, and reports a refusal as RAMP_REFUSED. @throws DomainError RAMP_REFUSED, RAMP_UNAVAILABLE */
  askOrReject<T>(question: Question<T>): Promise<T>;
}

export function createTransport({ url, apiKey, fetch, timeoutMs, throttle }: TransportOptions): Transport {
  const base = url.endsWith('/') ? url : `${url}/`;

  async function ask<T>(question: Question<T>): Promise<T> {
    const { method, path, body, headers } = question;
    try {
      await throttle.acquire();
      const signal = AbortSignal.timeout(timeoutMs);
      const response = await fetch(new URL(path, base), {
        method,
        redirect: 'error',
        signal,
        headers: {
          accept: 'application/json',
          'content-type': 'application/json',
          authorization: `Bearer ${apiKey}`,
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const pauseMs = pauseAskedForMs(response, Date.now());
      if (pauseMs !== null) throttle.pauseFor(pauseMs);
      const text = await readBounded(response, MAX_ANSWER_BYTES, signal);
      if (response.status >= 400 && response.status < 500 && !NO_REFUSAL.has(response.status)) {
        throw new Refused(response.status, codeIn(text) ?? `status ${response.status}`);
      }
      if (!response.ok) throw new Error(`it answered with status ${response.status}`);
      return question.schema.parse(JSON.parse(text));
    } catch (error) {
      if (error instanceof Refused) throw error;
      throw unavailable(`${method} /${path.split('?')[0]}`, error);
    }
  }

  return {
    ask,
    askOrReject: (question) =>
      ask(question).catch((error: unknown) => {
        if (error instanceof Refused) throw refusal(error, 'The ramp provider refused');
        throw error;
      }),
  };
}

export function refusal({ message, status }: Refused, what: string): DomainError {
  return new DomainError('RAMP_REFUSED', `${what}: ${message}.`, { providerHttpStatus: status });
}

export function unavailable(what: string, error: unknown): DomainError {
  const message = `The ramp provider could not be asked (${what}): ${reasonOf(error)}`;
  const isUnreadable = error instanceof z.ZodError || error instanceof SyntaxError;
  return new DomainError('RAMP_UNAVAILABLE', message, {}, isUnreadable ? {} : { cause: error });
}

/** Parsers quote the text that they could not read: only names of members of the schema may be passed on. */
function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'its answer is not JSON';
  if (error instanceof z.ZodError) {
    const members = new Set(error.issues.map(({ path }) => path.join('.')).filter((name) => name !== ''));
    const named = [...members].slice(0, MAX_NAMED_MEMBERS).join(', ');
    return `its answer has an unknown form${named === '' ? '' : `: see ${named}`}`;
  }
  // A caller may not know the address that fetch names. The cause has it, for the log.
  if (error instanceof TypeError) return 'it can’t be reached, ends its answer early, or redirects';
  return messageOf(error);
}

function codeIn(text: string): string | null {
  return refusalSchema.safeParse(parseJson(text)).data?.code ?? null;
}
