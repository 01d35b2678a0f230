/**
 * NOT_FOUND, the same for an object that does not exist and for one that the caller may not see.
 */
import { DomainError } from '../../lib/errors.ts';

export function notFound(what: string, field = 'input.id'): DomainError {
  return new DomainError('NOT_FOUND', `There is no ${what} with this id that you may see.`, { field });
}
