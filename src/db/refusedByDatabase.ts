/**
 * Tells from the error of a statement or transaction whether it can have had an effect.
 */
import postgres from 'postgres';

/**
 * Returns the error with which PostgreSQL refused the statement or transaction, so that it had no effect.
 * Null for other failures: it may have had an effect although the answer was lost.
 */
export function refusedByDatabase(error: unknown): postgres.PostgresError | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    // After a FATAL error the connection ends, and a commit under way may or may not have happened.
    if (cause instanceof postgres.PostgresError) return cause.severity === 'ERROR' ? cause : null;
  }
  return null;
}
