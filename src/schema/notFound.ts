/**
 * The answer to an id that stands for nothing, or for something that the caller may not know of: the same.
 */
import { DomainError } from '../errors.ts';

export function notFound(what: string, field: 'id' | 'tokenAddress' = 'id'): DomainError {
  return new DomainError('NOT_FOUND', `There is no ${what} with this ${field} that you may see.`, { field });
}
