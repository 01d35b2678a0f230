/**
 * Classifies a failed statement. Drizzle's errors repeat the whole statement with its values; only the innermost cause
 * says what went wrong.
 */
import postgres from 'postgres';
import { messageOf } from '../../../lib/errors.ts';

export function innermostMessage(error: unknown): string {
  return messageOf(innermost(error));
}

/** True when PostgreSQL answered with an error; false when it did not answer. */
export function isRefusedByDatabase(error: unknown): boolean {
  return innermost(error) instanceof postgres.PostgresError;
}

function innermost(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? innermost(error.cause) : error;
}
