/**
 * The `idempotencyKey` of an input: `idempotencyKey: t.string(IDEMPOTENCY_KEY)`.
 */
import { idempotencyKey } from './text.ts';

export const IDEMPOTENCY_KEY = {
  required: true,
  validate: { schema: idempotencyKey },
  description:
    'A key chosen by the client, such as a UUID: 1 to 255 printable ASCII characters. The same key with the ' +
    'same input returns the same result without a second effect. The same key with a different input returns ' +
    'IDEMPOTENCY_CONFLICT. A key whose request had an effect is kept permanently.',
} as const;
