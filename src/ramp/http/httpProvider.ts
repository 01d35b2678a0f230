/**
 * A ramp provider behind an HTTP interface.
 *
 *   POST /quotes                       { tokenAmount, tokenSymbol, fiatCurrency } → quote
 *   POST /payouts                      { clientReference, quote…, payoutAccount } → payout; idempotent by reference
 *   GET  /payouts?clientReference=…    → { payouts: [payout] }
 *   GET  /payouts/{id}                 → payout
 *   POST /payouts/{id}/cancel          → payout
 *   payout                             { id, clientReference, status, and fiatCurrency and fiatAmount if it repeats
 * them }
 *   callback                           { sessionId }, signed: `sha256=` and the hex HMAC-SHA256 of the raw body
 *
 * The provider's answers are checked, and bounded in size and time. Its messages are never repeated, because they may
 * contain the payout account.
 */
import { z } from 'zod';
import { readBounded } from '../../lib/boundedAnswer.ts';
import { DomainError, messageOf } from '../../lib/errors.ts';
import { pauseAskedForMs } from '../../lib/retryAfter.ts';
import { verifySignature } from '../../lib/signature.ts';
import { DECIMAL_PATTERN } from '../../lib/decimals.ts';
import type { Pace } from './pace.ts';
import {
  SESSION_ID_PATTERN,
  type Callback,
  type QuoteRequest,
  type RampProvider,
  type RampSession,
} from '../port.ts';

interface HttpProviderOptions {
  /** Base address, with or without a path. */
  url: string;
  apiKey: string;
  /** Secrets that sign callbacks; several during a rotation. */
  callbackSecrets: readonly string[];
  fetch: typeof fetch;
  timeoutMs: number;
  pace: Pace;
}

export const CALLBACK_SIGNATURE_HEADER = 'x-ramp-signature';

/** A payout is a few hundred bytes; a look-up by reference answers with a few. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** Statuses that say nothing about the payout: wrong key, too many requests, or trouble at the provider. */
const NO_VERDICT = new Set([401, 403, 407, 408, 425, 429]);

const decimal = z.string().regex(DECIMAL_PATTERN);
const sessionId = z.string().regex(SESSION_ID_PATTERN);
const payoutSchema = z.object({
  id: sessionId,
  clientReference: z.string(),
  status: z.enum(['pending', 'processing', 'settled', 'failed', 'refunded']),
  /** Echoes of the request, where the provider sends them; in another form they are ignored. */
  fiatCurrency: z.string().optional().catch(undefined),
  fiatAmount: decimal.optional().catch(undefined),
});
const payoutsSchema = z.object({ payouts: z.array(payoutSchema).max(10) });
const quoteSchema = z.object({
  fiatCurrency: z.string(),
  fiatAmount: decimal,
  tokenAmount: z.string(),
  tokenSymbol: z.string(),
  exchangeRate: decimal,
  feeFiat: decimal,
  feeBps: z.int().min(0).max(10_000),
  expiresAt: z.iso.datetime({ offset: true }),
});
const callbackSchema = z.object({ sessionId });
/** Only machine-readable reasons are passed on. */
const refusalSchema = z.object({ code: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/) });

type Payout = z.infer<typeof payoutSchema>;

interface Question<T> {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  schema: z.ZodType<T>;
}

/** The provider refused, finally; the caller turns it into an error of its operation. */
class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function createHttpProvider(options: HttpProviderOptions): RampProvider {
  const base = options.url.endsWith('/') ? options.url : `${options.url}/`;

  async function ask<T>(question: Question<T>): Promise<T> {
    const { method, path, body, headers } = question;
    try {
      await options.pace.turn();
      const response = await options.fetch(new URL(path, base), {
        method,
        redirect: 'error',
        signal: AbortSignal.timeout(options.timeoutMs),
        headers: {
          accept: 'application/json',
          'content-type': 'application/json',
          authorization: `Bearer ${options.apiKey}`,
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const pauseMs = pauseAskedForMs(response, Date.now());
      if (pauseMs !== null) options.pace.hold(pauseMs);
      const text = await readBounded(response, MAX_ANSWER_BYTES);
      if (response.status >= 400 && response.status < 500 && !NO_VERDICT.has(response.status)) {
        throw new Refused(response.status, codeIn(text) ?? `status ${response.status}`);
      }
      if (!response.ok) throw new Error(`it answered with status ${response.status}`);
      return question.schema.parse(JSON.parse(text));
    } catch (error) {
      if (error instanceof Refused) throw error;
      throw unavailable(`${method} /${path.split('?')[0]}`, error);
    }
  }

  /** For questions where a refusal has no meaning of its own. */
  async function askOrReject<T>(question: Question<T>): Promise<T> {
    return ask(question).catch((error: unknown) => {
      if (!(error instanceof Refused)) throw error;
      throw new DomainError('RAMP_REJECTED', `The ramp provider refused: ${error.message}.`, {
        providerStatus: error.status,
      });
    });
  }

  async function findByReference(reference: string): Promise<Payout | null> {
    const path = `payouts?clientReference=${encodeURIComponent(reference)}`;
    const { payouts } = await askOrReject({ method: 'GET', path, schema: payoutsSchema });
    // A provider that ignores the filter answers with other payouts.
    return payouts.find((payout) => payout.clientReference === reference) ?? null;
  }

  return {
    // Another address is another provider: session ids are valid at one provider only.
    name: `http ${nameOf(base)}`,

    async quote(request) {
      const { tokenAmount, tokenSymbol, fiatCurrency } = request;
      const body = { tokenAmount: tokenAmount.toString(), tokenSymbol, fiatCurrency };
      const quote = await askOrReject({ method: 'POST', path: 'quotes', body, schema: quoteSchema });
      requireAnswerTo(request, quote);
      return { ...quote, tokenAmount, expiresAt: new Date(quote.expiresAt) };
    },

    async openSession({ reference, quote, countryCode, payoutAccount }) {
      const body = {
        clientReference: reference,
        tokenAmount: quote.tokenAmount.toString(),
        tokenSymbol: quote.tokenSymbol,
        fiatCurrency: quote.fiatCurrency,
        fiatAmount: quote.fiatAmount,
        feeFiat: quote.feeFiat,
        exchangeRate: quote.exchangeRate,
        countryCode,
        payoutAccount,
      };
      const headers = { 'idempotency-key': reference };
      const payout = await ask({
        method: 'POST',
        path: 'payouts',
        body,
        headers,
        schema: payoutSchema,
      }).catch(async (error: unknown) => {
        if (!(error instanceof Refused)) throw error;
        // The provider may refuse a repeated reference; a payout that exists is then the answer.
        const existing = await findByReference(reference);
        if (existing) return existing;
        throw new DomainError('RAMP_REJECTED', `The ramp provider refused the payout: ${error.message}.`, {
          providerStatus: error.status,
        });
      });
      if (payout.clientReference !== reference) {
        throw unavailable('POST /payouts', new Error('its answer is about another reference'));
      }
      return { sessionId: payout.id, status: payout.status };
    },

    async findSessionByReference(reference) {
      const payout = await findByReference(reference);
      return payout && { sessionId: payout.id, status: payout.status, ...fiatOf(payout) };
    },

    async getStatus(id) {
      const path = `payouts/${encodeURIComponent(id)}`;
      return (await askOrReject({ method: 'GET', path, schema: payoutSchema })).status;
    },

    async closeSession(id) {
      const path = `payouts/${encodeURIComponent(id)}`;
      return ask({ method: 'POST', path: `${path}/cancel`, body: {}, schema: payoutSchema })
        .catch((error: unknown) => {
          if (!(error instanceof Refused)) throw error;
          // Too late to cancel: its present status decides.
          return askOrReject({ method: 'GET', path, schema: payoutSchema });
        })
        .then((payout) => payout.status);
    },

    readCallback: (callback) => readSignedCallback(callback, options.callbackSecrets),
  };
}

function fiatOf({ fiatCurrency: currency, fiatAmount: amount }: Payout): Pick<RampSession, 'fiat'> {
  return currency === undefined || amount === undefined ? {} : { fiat: { currency, amount } };
}

function nameOf(base: string): string {
  const { host, pathname } = new URL(base);
  return `${host}${pathname}`.replace(/\/$/, '');
}

function readSignedCallback({ rawBody, headers }: Callback, secrets: readonly string[]): string | null {
  const header = headers[CALLBACK_SIGNATURE_HEADER];
  if (typeof header !== 'string' || !verifySignature({ rawBody, header, secrets })) return null;
  try {
    const parsed = callbackSchema.safeParse(JSON.parse(Buffer.from(rawBody).toString('utf8')));
    return parsed.success ? parsed.data.sessionId : null;
  } catch {
    return null;
  }
}

/** A quote for another request must not be frozen into this session. */
function requireAnswerTo(request: QuoteRequest, quote: z.infer<typeof quoteSchema>): void {
  const isSame =
    quote.tokenAmount === request.tokenAmount.toString() &&
    quote.tokenSymbol === request.tokenSymbol &&
    quote.fiatCurrency === request.fiatCurrency;
  if (!isSame) throw unavailable('POST /quotes', new Error('its quote is for something else'));
}

function codeIn(text: string): string | null {
  try {
    const parsed = refusalSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data.code : null;
  } catch {
    return null;
  }
}

function unavailable(what: string, error: unknown): DomainError {
  const isUnreadable = error instanceof z.ZodError || error instanceof SyntaxError;
  // Parsers quote the text that they could not read: neither their message nor the cause may be passed on.
  const reason = isUnreadable ? 'its answer has an unknown form' : messageOf(error);
  return new DomainError('RAMP_UNAVAILABLE', `The ramp provider could not be asked (${what}): ${reason}`);
}
