/**
 * The CONFLICT error for an object that an operator has nothing to decide about.
 */
import { DomainError } from './errors.ts';

/** @param what the object's name, with a capital @param field the path of its id in the field's arguments */
export function notUnderReview(what: string, field: string, state: string): DomainError {
  return new DomainError('CONFLICT', `${what} is ${state}, not NEEDS_REVIEW.`, { field, state });
}
