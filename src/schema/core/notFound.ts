/**
 * NOT_FOUND, the same for an object that does not exist and for one that the caller may not see.
 */
import { DomainError } from '../../lib/errors.ts';

/** @param field the path of the id in the field's arguments */
export function notFound(what: string, field: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no ${what} with this id that you may see.`, { field });
}
