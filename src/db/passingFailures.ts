/**
 * Distinguishes failures of the database that pass from those that the same statement meets again.
 */
import postgres from 'postgres';
import { DomainError } from '../lib/errors.ts';
import { asConnectionLost, ConnectionLost } from './connectionLost.ts';

/** SQLSTATE classes of temporary trouble: connection, resources, intervention, transaction rollback. */
const PASSING_CLASSES: ReadonlySet<string> = new Set(['08', '53', '57', '40', '25', '55']);

/** Drizzle wraps what the driver throws. */
export function isPassing(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof postgres.PostgresError) return endsConnection(cause) || isOfPassingClass(cause);
    // Its cause may be another server's.
    if (cause instanceof DomainError) return false;
    if (asConnectionLost(cause) instanceof ConnectionLost) return true;
  }
  return false;
}

/**
 * Such as a role that may not log in any more: it is about the connection, and says nothing of the statement. A pooler's own errors
 * have no `severity`, also those of a login that PostgreSQL refused to the pooler.
 */
function endsConnection({ severity }: postgres.PostgresError): boolean {
  return severity !== 'ERROR';
}

function isOfPassingClass({ code }: postgres.PostgresError): boolean {
  return PASSING_CLASSES.has(code.slice(0, 2));
}
