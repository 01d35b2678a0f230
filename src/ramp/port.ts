/**
 * The port to a ramp provider, which pays a farmer fiat for receipt tokens.
 *
 * Glossary
 *   quote       the payout that is offered for an amount of tokens, and until when the offer holds
 *   session     one payout at the provider, from its opening to its end
 *   reference   the platform's name of a session, chosen before the provider is called; one reference always
 *               gets one session, so that a session whose answer was lost can be found again
 *   session id  the provider's name of a session, which callbacks carry
 *   callback    the provider's message that something changed: a hint, never a fact; `getStatus` decides
 *
 * Every method throws a DomainError: RAMP_UNAVAILABLE when nothing is known (time-out, broken connection, an
 * answer that makes no sense), RAMP_REFUSED when the provider refused, finally. Messages never
 * contain a payout account.
 */
import type { rampStatus } from '../db/tables/ramp.ts';
import type { Decimal } from '../lib/decimals.ts';
import { DomainError } from '../lib/errors.ts';

export type RampStatus = (typeof rampStatus.enumValues)[number];

export type PayoutAccount =
  | { type: 'mobile-money'; accountNumber: string; provider: string; accountName?: string | undefined }
  | { type: 'bank'; accountNumber: string; bankCode: string; accountName: string };

export interface QuoteRequest {
  /** Whole tokens (kilograms). */
  tokenAmount: bigint;
  tokenSymbol: string;
  /** ISO 4217. */
  fiatCurrency: string;
  /** Country and type of the payout account, as in OpenSessionRequest, if known: providers price by them. */
  countryCode?: string | undefined;
  payoutAccountType?: PayoutAccount['type'] | undefined;
}

export interface Quote extends Pick<QuoteRequest, 'tokenAmount' | 'tokenSymbol' | 'fiatCurrency'> {
  /** The amount paid out, after the fee. */
  fiatAmount: Decimal;
  /** The fee that the provider keeps, in the same currency. */
  fiatFee: Decimal;
  /** The fee's share of the amount before the fee, in basis points; null if the provider has no such rate. */
  feeBps: number | null;
  /** Tokens per one unit of fiat. */
  exchangeRate: Decimal;
  expiresAt: Date;
}

export interface OpenSessionRequest {
  reference: string;
  quote: Quote;
  /** The payout account's country, ISO 3166-1 alpha-2. */
  countryCode: string;
  payoutAccount: PayoutAccount;
}

/** A provider's answer about a session. */
export interface RampAnswer {
  status: RampStatus;
  /** The session's reference, as the provider says; left out if its ids can't become another session's. */
  reference?: string;
  /** The payout after the fee, as the provider writes it; members that it does not send are left out. */
  fiat?: { currency?: string | undefined; amount?: string | undefined };
}

export interface RampSession extends RampAnswer {
  sessionId: string;
  /** Number of other sessions of the reference that have not failed; there must be none. Left out if none. */
  others?: number;
}

/**
 * A look-up's answer has other references alone, so the session may be there, or not. A provider that ignores
 * the reference answers like that each time.
 */
export class OthersShown extends DomainError {
  constructor(what: string) {
    super('RAMP_UNAVAILABLE', `${what}: its answer is about other references`);
  }
}

export interface Callback {
  rawBody: Uint8Array;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface RampProvider {
  /** Stored with each session, whose ids are valid at this provider only. It outlives the provider's address. */
  readonly name: string;
  quote(request: QuoteRequest): Promise<Quote>;
  /** Opens a session, or answers with the one already opened under this reference. */
  openSession(request: OpenSessionRequest): Promise<RampSession>;
  /** Null when the provider does not know the reference. @throws OthersShown, and as every method does */
  findSessionByReference(reference: string): Promise<RampSession | null>;
  getStatus(sessionId: string): Promise<RampAnswer>;
  /**
   * Asks the provider not to pay. Safe to repeat.
   * @returns the provider's answer afterwards: `failed` when closed, otherwise the status that the session
   * has reached
   */
  closeSession(sessionId: string): Promise<RampAnswer>;
  readCallback(callback: Callback): ReadCallback;
  /** How long requests would wait, or fail, because of the provider's limit; left out if it has none. */
  freeInMs?(): number;
}

/** The session that a callback names; or the refusal: a missing or bad signature, or another form of body. */
export type ReadCallback = { sessionId: string } | { refusal: 'unverified' | 'not-a-callback' };

/**
 * Session ids of providers: printable ASCII without spaces, safe in logs, queries and URLs. `.` and `..`
 * would lead to other paths, however they are encoded.
 */
export const SESSION_ID_PATTERN = /^(?!\.\.?$)[\x21-\x7e]{1,200}$/;
