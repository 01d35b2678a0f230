/**
 * The answers to callers whose operation failed because the database was unreachable, ended the connection,
 * did not answer in time, or had no connection free in time.
 */
import { DrizzleQueryError } from 'drizzle-orm';
import postgres from 'postgres';
import { DomainError } from '../../lib/errors.ts';
import { ConnectionLost } from '../../db/connectionLost.ts';
import { isTransient } from '../../db/transientFailures.ts';

/** The same as after OVERLOADED: a server that restarts is back within seconds. */
const RETRY_AFTER_SECONDS = 1;

const ASK_AGAIN = 'The database is not available at the moment. Ask again shortly.';
const OUTCOME_UNKNOWN =
  'The database became unavailable while this was under way: whether it took effect is not known. Send the same again, with ' +
  'the same idempotency key where it has one; that is safe.';

/** The answer to an operation that changes nothing; null when the failure has another cause. */
export function databaseUnavailable(error: unknown): DomainError | null {
  return isOfDatabase(error) ? answer(ASK_AGAIN, error) : null;
}

/** The answer to a mutation that has begun; null when the failure has another cause. */
export function outcomeUnknown(error: unknown): DomainError | null {
  return isOfDatabase(error) ? answer(OUTCOME_UNKNOWN, error) : null;
}

/** True for failures of the database alone; other unreachable services have answers of their own. */
function isOfDatabase(error: unknown): boolean {
  const root = error instanceof DrizzleQueryError ? error.cause : error;
  const isItsError = root instanceof ConnectionLost || root instanceof postgres.PostgresError;
  return isItsError && isTransient(root);
}

function answer(message: string, cause: unknown): DomainError {
  return new DomainError(
    'DATABASE_UNAVAILABLE',
    message,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
    { cause },
  );
}
