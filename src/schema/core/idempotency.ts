/**
 * The `idempotencyKey` of an input: `idempotencyKey: t.string(IDEMPOTENCY_KEY)`.
 */
import { idempotencyKey } from './text.ts';

export const IDEMPOTENCY_KEY = {
  required: true,
  validate: { schema: idempotencyKey },
  description:
    '1 to 255 printable ASCII characters chosen by the client, such as a UUID. The same key with the same input returns the ' +
    'same result without a second effect; with a different input it is an IDEMPOTENCY_CONFLICT. A key that had an effect is ' +
    'remembered for good.',
} as const;
