/**
 * The error for operations that exceed a limit on size.
 */
import { DomainError } from '../lib/errors.ts';

/** @throws DomainError OPERATION_TOO_LARGE, naming the exceeded limit */
export function requireAtMost(
  limit: number,
  what: string,
  actual: number,
  advice = 'Ask for less, or in several operations.',
): void {
  if (actual <= limit) return;
  throw new DomainError(
    'OPERATION_TOO_LARGE',
    `The operation is too large: its ${what} is ${actual}, and at most ${limit} is accepted. ${advice}`,
    { what, actual, limit },
  );
}
