/**
 * A ramp provider behind an HTTP interface.
 *
 *   POST /quotes                       { tokenAmount, tokenSymbol, fiatCurrency, countryCode?,
 *                                        payoutAccountType? } → quote
 *   POST /payouts                      { clientReference, quote…, payoutAccount } → payout; one per reference
 *   GET  /payouts?clientReference=…    → { payouts: [payout] }
 *   GET  /payouts/{id}                 → payout
 *   POST /payouts/{id}/cancel          → payout
 *   payout                             { id, clientReference, status, fiatCurrency?, fiatAmount? }
 *   callback                           { sessionId }, signed: `sha256=` and the hex HMAC-SHA256 of its bytes
 *
 * The provider's answers are checked, and bounded in size and time. Its messages are never repeated, because
 * they may contain the payout account.
 */
import * as z from 'zod';
import { verifySignature } from '../../lib/signature.ts';
import { canonicalDecimal, DECIMAL_PATTERN } from '../../lib/decimals.ts';
import { DomainError } from '../../lib/errors.ts';
import { readCallbackBody } from '../callbackBody.ts';
import {
  OthersShown,
  SESSION_ID_PATTERN,
  type Callback,
  type OpenSessionRequest,
  type QuoteRequest,
  type RampAnswer,
  type ReadCallback,
  type RampProvider,
  type RampSession,
} from '../port.ts';
import { createTransport, Refused, refusal, unavailable, type TransportOptions } from './transport.ts';

interface HttpProviderOptions extends TransportOptions {
  name: string;
  /** Secrets that sign callbacks; several during a rotation. */
  callbackSecrets: readonly string[];
}

export const CALLBACK_SIGNATURE_HEADER = 'x-ramp-signature';

const decimal = z.string().regex(DECIMAL_PATTERN);
const sessionId = z.string().regex(SESSION_ID_PATTERN);
/**
 * Stands for an amount or currency that can't be shown. It counts, because it could be less than asked for.
 */
const UNREADABLE = '(unreadable)';
/** An amount in any form of a number; nothing else, because it is shown. */
const writtenAmount = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(z.string().regex(/^[-+\d.,' e]{1,64}$/));
const writtenCurrency = z.string().regex(/^[\x20-\x7e]{1,64}$/);
const echoOf = (written: z.ZodType<string>) =>
  written
    .nullish()
    .catch(UNREADABLE)
    .transform((text) => text ?? undefined);
/** The statuses, in the order of payouts under one reference: one that was paid, or may be, matters most. */
const COSTLIEST_FIRST = ['settled', 'processing', 'refunded', 'pending', 'failed'] as const;
const payoutSchema = z.object({
  id: sessionId,
  clientReference: z.string(),
  status: z.enum(COSTLIEST_FIRST),
  /** Echoes of the request, if the provider sends them. */
  fiatCurrency: echoOf(writtenCurrency),
  fiatAmount: echoOf(writtenAmount),
});
const payoutsSchema = z.object({ payouts: z.array(payoutSchema) });
const quoteSchema = z.object({
  fiatCurrency: z.string(),
  fiatAmount: decimal,
  tokenAmount: z.string(),
  tokenSymbol: z.string(),
  exchangeRate: decimal,
  fiatFee: decimal,
  /** Null for a fee that is the same for each payout. */
  feeBps: z
    .int()
    .min(0)
    .max(10_000)
    .nullish()
    .transform((bps) => bps ?? null),
  expiresAt: z.iso.datetime({ offset: true }).refine(isStorable),
});
type Payout = z.infer<typeof payoutSchema>;

/**
 * Refuses a zero time such as 0001-01-01. PostgreSQL has no year 0, and clients get times from 1970 to 9999.
 */
function isStorable(text: string): boolean {
  const year = new Date(text).getUTCFullYear();
  return year >= 1970 && year <= 9999;
}

export function createHttpProvider(options: HttpProviderOptions): RampProvider {
  const { ask, askOrReject } = createTransport(options);

  async function findByReference(reference: string): Promise<RampSession | null> {
    const path = `payouts?clientReference=${encodeURIComponent(reference)}`;
    const { payouts } = await askOrReject({ method: 'GET', path, schema: payoutsSchema });
    return sessionAmong(payouts, reference);
  }

  return {
    name: options.name,

    async quote(request) {
      const { tokenAmount, tokenSymbol, fiatCurrency, countryCode, payoutAccountType } = request;
      const amount = tokenAmount.toString();
      const body = { tokenAmount: amount, tokenSymbol, fiatCurrency, countryCode, payoutAccountType };
      const quote = await askOrReject({ method: 'POST', path: 'quotes', body, schema: quoteSchema });
      requireAnswerTo(request, quote);
      requirePayout(quote);
      return { ...quote, tokenAmount, expiresAt: new Date(quote.expiresAt) };
    },

    async openSession(request) {
      const { reference } = request;
      const body = payoutRequestOf(request);
      const headers = { 'idempotency-key': reference };
      const question = { method: 'POST' as const, path: 'payouts', body, headers, schema: payoutSchema };
      return ask(question).then(
        (payout) => {
          if (payout.clientReference === reference) return sessionOf(payout);
          throw unavailable('POST /payouts', new Error('its answer is about another reference'));
        },
        async (error: unknown) => {
          if (!(error instanceof Refused)) throw error;
          // The provider may refuse a repeated reference; an existing payout is then the answer.
          const existing = await findByReference(reference);
          if (existing) return existing;
          throw refusal(error, 'The ramp provider refused the payout');
        },
      );
    },

    findSessionByReference: findByReference,

    async getStatus(id) {
      const path = `payouts/${encodeURIComponent(id)}`;
      return answerOf(id, await askOrReject({ method: 'GET', path, schema: payoutSchema }));
    },

    async closeSession(id) {
      const path = `payouts/${encodeURIComponent(id)}`;
      return ask({ method: 'POST', path: `${path}/cancel`, body: {}, schema: payoutSchema })
        .catch((error: unknown) => {
          if (!(error instanceof Refused)) throw error;
          // The payout may no longer be cancelled: its present status decides.
          return askOrReject({ method: 'GET', path, schema: payoutSchema });
        })
        .then((payout) => answerOf(id, payout));
    },

    readCallback: (callback) => readSignedCallback(callback, options.callbackSecrets),
    freeInMs: () => options.throttle.freeInMs(),
  };
}

function payoutRequestOf({ reference, quote, countryCode, payoutAccount }: OpenSessionRequest) {
  return {
    clientReference: reference,
    tokenAmount: quote.tokenAmount.toString(),
    tokenSymbol: quote.tokenSymbol,
    fiatCurrency: quote.fiatCurrency,
    fiatAmount: quote.fiatAmount,
    fiatFee: quote.fiatFee,
    exchangeRate: quote.exchangeRate,
    countryCode,
    payoutAccount,
  };
}

/** Refuses an answer about another payout, which would release this payout's tokens. */
function answerOf(id: string, payout: Payout): RampAnswer {
  const { status, clientReference: reference } = payout;
  if (payout.id === id) return { status, reference, ...fiatOf(payout) };
  throw unavailable('/payouts/{id}', new Error('its answer is about another payout'));
}

function sessionOf(payout: Payout): RampSession {
  return { sessionId: payout.id, status: payout.status, ...fiatOf(payout) };
}

/**
 * The session of the reference. A provider that ignores the filter also answers with other payouts; when it
 * shows only others, a further page may have the session, which must not be taken for one that is not there.
 */
function sessionAmong(payouts: readonly Payout[], reference: string): RampSession | null {
  const [first, ...rest] = payouts
    .filter((payout) => payout.clientReference === reference)
    .toSorted((a, b) => COSTLIEST_FIRST.indexOf(a.status) - COSTLIEST_FIRST.indexOf(b.status));
  if (first === undefined) {
    if (payouts.length === 0) return null;
    throw new OthersShown('The ramp provider could not be asked (GET /payouts)');
  }
  const others = rest.filter(({ id, status }) => id !== first.id && status !== 'failed').length;
  return { ...sessionOf(first), ...(others > 0 && { others }) };
}

function fiatOf({ fiatCurrency: currency, fiatAmount: amount }: Payout): Pick<RampAnswer, 'fiat'> {
  return currency === undefined && amount === undefined ? {} : { fiat: { currency, amount } };
}

function readSignedCallback({ rawBody, headers }: Callback, secrets: readonly string[]): ReadCallback {
  const header = headers[CALLBACK_SIGNATURE_HEADER];
  const isSigned = typeof header === 'string' && verifySignature({ rawBody, header, secrets });
  return isSigned ? readCallbackBody(rawBody) : { refusal: 'unverified' };
}

/** Refuses a quote that pays nothing: the tokens would go to the treasury without a payout. */
function requirePayout({ fiatAmount, exchangeRate }: z.infer<typeof quoteSchema>): void {
  if (canonicalDecimal(exchangeRate) === '0')
    throw unavailable('POST /quotes', new Error('its exchange rate is 0'));
  if (canonicalDecimal(fiatAmount) === '0') {
    throw new DomainError(
      'RAMP_REFUSED',
      'The ramp provider pays nothing for so few tokens: nothing is left after its fee. Cash out more.',
      { field: 'tokenAmount' },
    );
  }
}

/** Refuses a quote for another request, which must not be frozen into this session. */
function requireAnswerTo(request: QuoteRequest, quote: z.infer<typeof quoteSchema>): void {
  const repeated = ['tokenAmount', 'tokenSymbol', 'fiatCurrency'] as const;
  const others = repeated.filter((member) => quote[member] !== String(request[member]));
  if (others.length === 0) return;
  throw unavailable('POST /quotes', new Error(`its quote is for another ${others.join(' and ')}`));
}
