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
    if (cause instanceof postgres.PostgresError) return PASSING_CLASSES.has(cause.code.slice(0, 2));
    // Its cause may be another server's.
    if (cause instanceof DomainError) return false;
    if (asConnectionLost(cause) instanceof ConnectionLost) return true;
  }
  return false;
}
