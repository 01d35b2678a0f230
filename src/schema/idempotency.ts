/**
 * What every idempotency key's description says.
 */
export const IDEMPOTENCY_KEY =
  '1 to 255 printable ASCII characters, chosen by you, such as a UUID. The same key with the same input gives the ' +
  'same answer and does nothing again; with another input it is an IDEMPOTENCY_CONFLICT.';
