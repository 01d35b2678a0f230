/**
 * What a failed statement means. Drizzle wraps the driver's errors in ones whose message repeats the whole
 * statement with its values: only the innermost says what went wrong.
 */
import postgres from 'postgres';
import { messageOf } from '../../../errors.ts';

export function innermostMessage(error: unknown): string {
  return messageOf(innermost(error));
}

/** True when PostgreSQL answered with an error; false when it could not be asked. */
export function isRefusedByDatabase(error: unknown): boolean {
  return innermost(error) instanceof postgres.PostgresError;
}

function innermost(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? innermost(error.cause) : error;
}
