/**
 * CONFLICT of an object that is not in the state that is asked for.
 */
import { DomainError } from './errors.ts';

/** @param what with a capital; @param field the path of its id in the field's arguments */
export function wrongState(what: string, field: string, state: string, required: string): DomainError {
  return new DomainError('CONFLICT', `${what} is ${state}, not ${required}.`, { field, state });
}
