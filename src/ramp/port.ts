/**
 * The port to a ramp provider: whoever turns receipt tokens into fiat in a farmer's account.
 *
 * Glossary
 *   quote       what would be paid out for an amount of tokens, and until when that holds
 *   session     one payout at the provider, from its opening to its end
 *   reference   our own name of a session, chosen before the provider is called; the same reference always
 *               gets the same session, so that a session whose answer was lost can be found again
 *   session id  the provider's name of it, which callbacks carry
 *   callback    the provider's notice that something changed: a hint, never a fact; `getStatus` decides
 *
 * Every method throws a DomainError: RAMP_UNAVAILABLE when nothing is known (time-out, broken connection, an
 * answer that makes no sense), RAMP_REJECTED when the provider said no and will say no again. Messages never
 * contain a payout account.
 */

/** A decimal number as text: digits, and a point with more digits. Never a float. */
export type Decimal = string;

export type RampStatus = 'pending' | 'processing' | 'settled' | 'failed' | 'refunded';

export type PayoutAccount =
  | { type: 'mobile-money'; accountNumber: string; provider: string; accountName?: string | undefined }
  | { type: 'bank'; accountNumber: string; bankCode: string; accountName: string };

export interface QuoteRequest {
  /** Whole tokens (kilograms). */
  tokenAmount: bigint;
  tokenSymbol: string;
  /** ISO 4217. */
  fiatCurrency: string;
}

export interface Quote extends QuoteRequest {
  /** What is paid out, after the fee. */
  fiatAmount: Decimal;
  /** What the provider keeps, in the same currency. */
  feeFiat: Decimal;
  feeBps: number;
  /** Tokens per one unit of fiat. */
  exchangeRate: Decimal;
  expiresAt: Date;
}

export interface OpenSessionRequest {
  reference: string;
  quote: Quote;
  /** ISO 3166-1 alpha-2, of the payout account. */
  countryCode: string;
  payoutAccount: PayoutAccount;
}

export interface RampSession {
  sessionId: string;
  status: RampStatus;
}

export interface Callback {
  rawBody: Uint8Array;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface RampProvider {
  /** Kept with each session: its ids mean something to this provider alone. */
  readonly name: string;
  quote(request: QuoteRequest): Promise<Quote>;
  /** Opens a session, or answers with the one that was opened under this reference before. */
  openSession(request: OpenSessionRequest): Promise<RampSession>;
  /** Null when the provider never got that reference. */
  findSessionByReference(reference: string): Promise<RampSession | null>;
  getStatus(sessionId: string): Promise<RampStatus>;
  /**
   * Asks that nothing be paid out. Safe to repeat.
   * @returns the status after that: `failed` when closed, else what it has come to in the meantime.
   */
  closeSession(sessionId: string): Promise<RampStatus>;
  /** The session id in a callback; null when it is not one, or its signature is missing or wrong. */
  readCallback(callback: Callback): string | null;
}

/** Session ids longer than this are nobody's. */
export const MAX_SESSION_ID_CHARACTERS = 200;
