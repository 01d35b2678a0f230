/**
 * Known causes that keep the database from being used, each as one sentence for the operator.
 */
import { partsOf, serversOf } from '../lib/databaseUrl.ts';
import { codeOf, innermost, innermostMessage } from '../lib/errors.ts';
import { StartupError } from '../lib/startupErrors.ts';

/** The embedded PostgreSQL runs, but its database can't be migrated to this version's schema. */
export function migrationFailed(error: unknown): StartupError {
  return new StartupError(
    `The database under DATA_DIR can't be migrated: ${databaseMessage(error)}. If a newer version of this ` +
      'program made it, start that one; otherwise please report this.',
    { cause: error },
  );
}

/** Describes a failure between this process and the configured database. */
export function databaseUnreachable(url: string, error: unknown): StartupError {
  return new StartupError(
    `The database ${partsOf(url).database} at ${serversOf(url)} can't be used: ${databaseMessage(error)}. ` +
      'Check DATABASE_URL (and DATABASE_DIRECT_URL and DATABASE_MIGRATION_URL, if they are set), or leave them out to use ' +
      'the embedded PostgreSQL.',
    { cause: error },
  );
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** Whether the role lacked the right to do what it was asked to. */
export function isLackOfRights(error: unknown): boolean {
  if (codeOf(error) === INSUFFICIENT_PRIVILEGE) return true;
  return error instanceof Error && error.cause !== undefined && isLackOfRights(error.cause);
}

/** The application's role is another one than the owner of the tables, and only the owner can migrate. */
export function migrationNeedsOwner(error: unknown): StartupError {
  return new StartupError(
    `The database needs a migration, and its role may not do that: ${databaseMessage(error)}. Run "npm run migrate" ` +
      'with DATABASE_MIGRATION_URL set to the role that owns the tables, which also grants the role of DATABASE_URL what it ' +
      'needs.',
    { cause: error },
  );
}

export const NOT_MIGRATED =
  'The database needs a migration, and this command leaves that to "npm run migrate": run it with DATABASE_MIGRATION_URL set to the ' +
  'role that owns the tables. A server of this version, where it has that address, does the same at its start.';

export const MIGRATED_BY_NEWER =
  'The database was migrated by a newer version of this program: its schema and the rights of the role of DATABASE_URL are ' +
  'left as they are. Start the newer version, unless this one is being replaced.';

/** One sentence about a role that can switch off the rules of the database. */
export function roleOverRules(role: string, powers: readonly string[]): string {
  return (
    `The database role "${role}" of DATABASE_URL ${powers.join(', and ')}: it could switch off the rules that keep the books ` +
    'and the audit log as they are. Give DATABASE_URL a role of its own and DATABASE_MIGRATION_URL the one that owns the tables ' +
    '(docs/operations.md), or set DATABASE_ROLES=single to accept it.'
  );
}

/** PgBouncer accepts few settings at connect, and refuses the connection for any other. */
export function isSettingsRefusal(error: unknown): boolean {
  return /unsupported startup parameter/i.test(databaseMessage(error));
}

export function poolerWithoutSessions(url: string): StartupError {
  return new StartupError(
    `DATABASE_URL leads to a connection pooler at ${serversOf(url)} that does not keep sessions as they are: it refuses or ` +
      "leaves out a session's settings, or delivers no notifications. Set DATABASE_DIRECT_URL to the address of PostgreSQL itself, for LISTEN " +
      'and migrations; DATABASE_URL may stay as it is.',
  );
}

export function otherSetting(url: string, name: string, value: string, assumed: string): StartupError {
  return new StartupError(
    `The database at ${serversOf(url)} gives the sessions of DATABASE_URL ${name} = "${value}", and the program counts on "${assumed}", ` +
      `which it can't set through a pooler. ALTER ROLE … SET ${name} = '${assumed}' for its role, and have the pooler connect anew.`,
  );
}

export function otherEncoding(url: string, encoding: string): StartupError {
  const { database } = partsOf(url);
  return new StartupError(
    `The database ${database} at ${serversOf(url)} has the encoding ${encoding}, which does not hold the texts of every language. Set DATABASE_URL ` +
      "to one with UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
  );
}

export function losesCommits(url: string): StartupError {
  return new StartupError(
    `The database at ${serversOf(url)} has synchronous_commit = off for DATABASE_URL: a crash loses what it has committed, such as purchases ` +
      'that were answered, and transactions that were sent. ALTER ROLE … SET synchronous_commit = on for its role.',
  );
}

export function notTheSameDatabase(url: string, directUrl: string): StartupError {
  return new StartupError(
    `What is notified through DATABASE_URL (${serversOf(url)}) is not heard at DATABASE_DIRECT_URL ` +
      `(${serversOf(directUrl)}). Set DATABASE_DIRECT_URL to PostgreSQL itself, not to a pooler, and to the same ` +
      'database as DATABASE_URL.',
  );
}

export function migratesElsewhere(url: string, migrationUrl: string): StartupError {
  return new StartupError(
    `DATABASE_MIGRATION_URL leads to another database (${partsOf(migrationUrl).database} at ${serversOf(migrationUrl)}) than ` +
      `DATABASE_URL (${partsOf(url).database} at ${serversOf(url)}). Nothing was changed there. Set it to the same database, as ` +
      'the role that owns the tables.',
  );
}

/** Drizzle wraps the database's message in the whole statement. */
function databaseMessage(error: unknown): string {
  return innermostMessage(error) || codeOf(innermost(error));
}
