/**
 * The answer to operations that are larger than the server takes.
 */
import { DomainError } from '../errors.ts';

/** @throws DomainError OPERATION_TOO_LARGE, saying what there is too much of */
export function requireAtMost(limit: number, what: string, actual: number): void {
  if (actual <= limit) return;
  throw new DomainError(
    'OPERATION_TOO_LARGE',
    `The operation is too large: its ${what} is ${actual}, and at most ${limit} is accepted. Ask for less, or in ` +
      'several operations.',
    { what, actual, limit },
  );
}
