/**
 * What a failed statement or transaction says about its effect.
 */
import postgres from 'postgres';

/**
 * The error with which PostgreSQL refused it, so that nothing of it took effect. Null for other failures: it may have taken
 * effect although the answer was lost.
 */
export function refusedByDatabase(error: unknown): postgres.PostgresError | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    // After a FATAL one the connection ends, and a commit under way may or may not have happened.
    if (cause instanceof postgres.PostgresError) return cause.severity === 'ERROR' ? cause : null;
  }
  return null;
}
