/**
 * The NOT_FOUND error for an id.
 */
import { DomainError } from './errors.ts';

/** For callers who may see every such object. @param field the path of the id in the field's arguments */
export function notFound(what: string, field: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no ${what} with this id.`, { field });
}

/** The same error for an object that does not exist and for one that the caller may not see. */
export function notVisible(what: string, field: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no ${what} with this id that you may see.`, { field });
}
