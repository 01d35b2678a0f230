/**
 * Classifies a failed statement. Drizzle's errors repeat the whole statement with its values; only the innermost cause
 * says what went wrong.
 */
import postgres from 'postgres';
import { innermost } from '../../../lib/errors.ts';

/** True when PostgreSQL answered with an error; false when it did not answer. */
export function isRefusedByDatabase(error: unknown): boolean {
  return innermost(error) instanceof postgres.PostgresError;
}
