/**
 * Turns a broken rule into an error that a client can act on: the field, the problem and the value.
 */
import type * as z from 'zod';
import { DomainError } from '../../lib/errors.ts';
import { showValue } from './showValue.ts';

/**
 * The first broken rule as BAD_USER_INPUT, with `details.field` as a dotted path from the arguments.
 * @param args the arguments as they were sent, to repeat the wrong value
 */
export function badUserInput(error: z.ZodError, args: unknown): DomainError {
  const issue = error.issues[0];
  const path = issue?.path ?? [];
  const field = path.map(String).join('.');
  const message = issue?.message ?? 'is not acceptable';
  return new DomainError(
    'BAD_USER_INPUT',
    field === ''
      ? `The arguments: ${message}.`
      : `${field} ${message}; it is ${showValue(valueAt(args, path))}.`,
    field === '' ? {} : { field },
    { cause: error },
  );
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}
