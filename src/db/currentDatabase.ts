/**
 * Which database a statement runs in.
 */

/** Its PostgreSQL cluster and its own number: the same at every address and on every standby, and another one in a copy made by pg_restore. */
export const CURRENT_DATABASE = `(SELECT system_identifier || '/' || oid FROM pg_control_system(), pg_database
  WHERE datname = current_database())`;
