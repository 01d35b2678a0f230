/**
 * The error for operations that exceed a limit on size.
 */
import { DomainError } from '../lib/errors.ts';

/** The measures of an operation: their names for programs and for people. */
const MEASURES = {
  COST: 'cost',
  DEPTH: 'depth',
  FIELDS: 'number of fields',
  LINES: 'number of lines',
  VARIABLE_VALUES: 'number of values in variables',
  ALIASES: 'number of aliases',
  DIRECTIVES: 'number of directives',
  EQUAL_FIELD_PAIRS: 'number of pairs of fields of the same name',
  INTROSPECTION_OBJECTS: 'number of objects of an introspection',
  INTROSPECTION_DEPTH: 'depth of an introspection',
  LONGEST_ANSWER_BYTES: 'longest possible answer in bytes',
  ANSWER_BYTES: 'answer in bytes',
} as const;

/** @throws DomainError OPERATION_TOO_LARGE, naming the exceeded limit */
export function requireAtMost(
  limit: number,
  measure: keyof typeof MEASURES,
  actual: number,
  advice = 'Ask for less, or in several operations.',
): void {
  if (actual <= limit) return;
  throw new DomainError(
    'OPERATION_TOO_LARGE',
    `The operation is too large: its ${MEASURES[measure]} is ${actual}, and at most ${limit} is accepted. ${advice}`,
    { measure, actual, limit },
  );
}
