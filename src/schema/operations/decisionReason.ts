/**
 * The reason of a decision, as an input: `reason: t.string(DECISION_REASON)`.
 */
import { reason } from '../core/text.ts';

export const DECISION_REASON = {
  required: true,
  validate: { schema: reason },
  description: 'The reason for the decision, stored with it: 1 to 512 bytes of UTF-8.',
} as const;
