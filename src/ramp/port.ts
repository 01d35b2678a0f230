/**
 * The port to a ramp provider, which pays a farmer fiat for receipt tokens.
 *
 * Glossary
 *   quote       what would be paid out for an amount of tokens, and until when that holds
 *   session     one payout at the provider, from its opening to its end
 *   reference   the platform's name of a session, chosen before the provider is called; the same reference always
 *               gets the same session, so that a session whose answer was lost can be found again
 *   session id  the provider's name of it, which callbacks carry
 *   callback    the provider's message that something changed: a hint, never a fact; `getStatus` decides
 *
 * Every method throws a DomainError: RAMP_UNAVAILABLE when nothing is known (time-out, broken connection, an
 * answer that makes no sense), RAMP_REFUSED when the provider refused, finally. Messages never
 * contain a payout account.
 */
import type { Decimal } from '../lib/decimals.ts';

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
  /** Where the account is and what it is, as in OpenSessionRequest, where they are known: providers price by them. */
  countryCode?: string | undefined;
  payoutAccountType?: PayoutAccount['type'] | undefined;
}

export interface Quote extends Pick<QuoteRequest, 'tokenAmount' | 'tokenSymbol' | 'fiatCurrency'> {
  /** Paid out, after the fee. */
  fiatAmount: Decimal;
  /** Kept by the provider, in the same currency. */
  fiatFee: Decimal;
  /** Of the amount before the fee; null when the provider has no such rate. */
  feeBps: number | null;
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

/** What a provider says of a session. */
export interface RampAnswer {
  status: RampStatus;
  /** Whose session the provider says it is; left out where its ids can't become another's. */
  reference?: string;
  /** Paid out, after the fee, as the provider writes it; without what it does not say. */
  fiat?: { currency?: string | undefined; amount?: string | undefined };
}

export interface RampSession extends RampAnswer {
  sessionId: string;
  /** Further sessions of the reference, though there must be none, that the provider has not failed; left out when it shows none. */
  others?: number;
}

export interface Callback {
  rawBody: Uint8Array;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface RampProvider {
  /** Stored with each session, whose ids are valid at this provider only (providerName.ts). */
  readonly name: string;
  quote(request: QuoteRequest): Promise<Quote>;
  /** Opens a session, or answers with the one already opened under this reference. */
  openSession(request: OpenSessionRequest): Promise<RampSession>;
  /** Null when the provider does not know the reference. */
  findSessionByReference(reference: string): Promise<RampSession | null>;
  getStatus(sessionId: string): Promise<RampAnswer>;
  /**
   * Asks the provider not to pay. Safe to repeat.
   * @returns what it says afterwards: `failed` when closed, else the status that the session has reached
   */
  closeSession(sessionId: string): Promise<RampAnswer>;
  readCallback(callback: Callback): ReadCallback;
  /** How long a request would wait, or fail, because the provider limits them; left out where it does not. */
  freeInMs?(): number;
}

/** The session that a callback names; or what is wrong: its signature is missing or not good, or its body has another form. */
export type ReadCallback = { sessionId: string } | { refusal: 'unverified' | 'not-a-callback' };

/**
 * Session ids of providers: printable ASCII without spaces, safe in logs, queries and URLs. `.` and `..` would lead to other paths, however
 * they are encoded.
 */
export const SESSION_ID_PATTERN = /^(?!\.\.?$)[\x21-\x7e]{1,200}$/;
