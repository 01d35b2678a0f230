/**
 * The closed set of errors that this product answers with.
 *
 * Resolvers throw `DomainError`; the table below says what each code means, and docs/errors.md documents it.
 * Any other error is a defect: it is logged with its request id and masked before it leaves the server.
 */

/** Every code that a client can get in `extensions.code`, with the HTTP-like class that it belongs to. */
export const ERROR_CODES = {
  BAD_USER_INPUT: 'The input breaks a rule; nothing was changed. Correct the named field and send again.',
  UNAUTHENTICATED: 'The operation needs a valid bearer token, and no token or an invalid one was sent.',
  FORBIDDEN: 'The caller is known, but may not do this.',
  NOT_FOUND: 'No such object exists, or the caller may not know that it exists.',
  CONFLICT: 'The request contradicts what is already recorded.',
  IDEMPOTENCY_CONFLICT: 'The idempotency key was used before with a different input.',
  INSUFFICIENT_BALANCE: 'The buyer or holder owns less than the amount requested.',
  INSUFFICIENT_SUPPLY: 'Fewer credits are unsold than the amount requested.',
  ISSUANCE_CAP_EXCEEDED:
    "The deposit would exceed the amount that the warehouse's receipts may have outstanding for the commodity.",
  PRICE_CHANGED: 'The price of a tonne is no longer the expected price; nothing was booked.',
  LEDGER_REFUSED:
    'The ledger network permanently refused the transaction, or an operator ended it; reserved amounts were returned.',
  LEDGER_UNAVAILABLE: 'The ledger network cannot be reached or read at the moment; try again.',
  INDEXER_UNAVAILABLE: 'The indexer cannot be reached or answered wrongly; try again.',
  RAMP_REFUSED: 'The ramp provider refused the quote or the payout.',
  RAMP_UNAVAILABLE: 'The ramp provider cannot be reached at the moment; try again.',
  DATABASE_UNAVAILABLE:
    'The database is not available at the moment; send the request again with the same idempotency key.',
  RECEIPT_EXPIRED: 'The warehouse receipt has passed its expiry date.',
  RECEIPT_PLEDGED: 'The warehouse receipt is pledged to a lender, who has to release it first.',
  RESULT_TOO_LARGE: 'The full list is too long for one answer; page through the connection instead.',
  OPERATION_TOO_LARGE:
    'The operation is deeper, broader or more expensive than the limits allow; ask for less, or in ' +
    'several operations.',
  RATE_LIMITED: 'Too many requests; wait for the time named in retryAfterSeconds.',
  OVERLOADED: 'The server has no capacity left for this request; try again shortly.',
  GRAPHQL_PARSE_FAILED: 'The GraphQL document has a syntax error.',
  GRAPHQL_VALIDATION_FAILED: 'The GraphQL document does not fit the schema.',
  PERSISTED_QUERY_NOT_FOUND: 'The server knows no document with this hash; send the hash and the document.',
  PERSISTED_QUERY_NOT_SUPPORTED: 'No trusted document has this id; send the document itself.',
  DOCUMENT_NOT_TRUSTED: 'This server runs only trusted documents, and this document is not one of them.',
  BAD_REQUEST: 'The HTTP request is not a GraphQL request that this server accepts.',
  INTERNAL_SERVER_ERROR: 'A defect in this server; quote the request id when reporting it.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Every detail of an error; docs/errors.md says which code has which details. */
export const ERROR_DETAILS = [
  'actual',
  'amount',
  'amountReturned',
  'approvalRequestId',
  'assetId',
  'available',
  'claim',
  'currency',
  'custodyAddress',
  'depositStatus',
  'documentId',
  'field',
  'holderActId',
  'holderAddress',
  'limit',
  'limitKg',
  'measure',
  'offRampSessionId',
  'operation',
  'outstandingKg',
  'policy',
  'projectId',
  'providerHttpStatus',
  'reason',
  'receiptId',
  'requested',
  'requestedKg',
  'retirementId',
  'retryAfterSeconds',
  'roles',
  'settlementAddress',
  'state',
  'submissionId',
  'supported',
  'totalRetirements',
  'treeSize',
  'txHash',
] as const;

export type ErrorDetail = (typeof ERROR_DETAILS)[number];

/** Facts that a program can act on: field paths, amounts as decimal strings, identifiers. Never secrets. */
export type ErrorDetails = Readonly<
  Partial<Record<ErrorDetail, string | number | boolean | null | readonly string[]>>
>;

/**
 * An error for the caller: its code is one of the contract's, and its message and details go to the client.
 */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.details = details;
  }
}

/** A longer chain of causes is a cycle. */
export const MAX_CAUSES = 8;

/** Returns the first cause: for a failed statement the database's error, without statement and parameters. */
export function innermost(error: unknown): unknown {
  let root = error;
  for (let i = 0; i < MAX_CAUSES && root instanceof Error && root.cause instanceof Error; i++)
    root = root.cause;
  return root;
}

export function innermostMessage(error: unknown): string {
  return messageOf(innermost(error));
}

/** Returns the message with its cause: fetch's message says only that it failed, and its cause says why. */
export function messageWithCause(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${messageOf(error.cause)})` : '';
  return messageOf(error) + cause;
}

/** The message of any thrown value, for logs and `cause` texts. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For `catch`: makes null of errors of this class. The returned function throws any other error. */
export function nullFor(kind: abstract new (...given: never[]) => Error): (error: unknown) => null {
  return (error) => {
    if (error instanceof kind) return null;
    throw error;
  };
}

/** Whether the work ends without an error. */
export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** The `code` of an error of Node or PostgreSQL; an empty text without one. */
export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
