/**
 * The description of every `idempotencyKey` input.
 */
export const IDEMPOTENCY_KEY =
  '1 to 255 printable ASCII characters chosen by the client, such as a UUID. The same key with the same input returns the ' +
  'same result without a second effect; with a different input it is an IDEMPOTENCY_CONFLICT.';
