/**
 * Distinguishes transient failures of the database from failures that the same statement meets again.
 */
import postgres from 'postgres';
import { DomainError } from '../lib/errors.ts';
import { asConnectionLost, ConnectionLost } from './connectionLost.ts';

/** SQLSTATE classes of transient failures: connection, resources, intervention, transaction rollback. */
const TRANSIENT_CLASSES: ReadonlySet<string> = new Set(['08', '53', '57', '40', '25', '55']);

/** Whether the failure is transient. Drizzle wraps the driver's errors, so the causes count as well. */
export function isTransient(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof postgres.PostgresError) return endsConnection(cause) || isOfTransientClass(cause);
    // The cause of a DomainError may come from another server.
    if (cause instanceof DomainError) return false;
    if (asConnectionLost(cause) instanceof ConnectionLost) return true;
  }
  return false;
}

/**
 * The error is about the connection, such as a role that may no longer log in, and says nothing about the
 * statement. A pooler's own errors have no `severity`, even for a login that PostgreSQL refused to the
 * pooler.
 */
function endsConnection({ severity }: postgres.PostgresError): boolean {
  return severity !== 'ERROR';
}

function isOfTransientClass({ code }: postgres.PostgresError): boolean {
  return TRANSIENT_CLASSES.has(code.slice(0, 2));
}
