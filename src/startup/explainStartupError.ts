/**
 * The sentence that an operator reads when the process does not start.
 */
import postgres from 'postgres';
import { ConnectionLost } from '../db/connectionLost.ts';
import { isTransient } from '../db/transientFailures.ts';
import { refusedByDatabase } from '../db/refusedByDatabase.ts';
import { WrongInstallation } from '../ledger/network/claimInstallation.ts';
import { codeOf, messageOf } from '../lib/errors.ts';
import { WrongNetwork } from '../ledger/network/nodeIdentity.ts';
import { NetworkUnavailable } from '../ledger/network/port.ts';
import { StartupError } from '../lib/startupErrors.ts';

/** @returns the sentence for a known cause, or null for a defect, whose stack trace is printed */
export function explainStartupError(error: unknown): string | null {
  if (error instanceof StartupError || error instanceof WrongInstallation) return error.message;
  if (error instanceof WrongNetwork || error instanceof NetworkUnavailable) return error.message;
  switch (codeOf(error)) {
    case 'EADDRINUSE':
      return `${addressOf(error)} is in use by another program. Stop it, or set PORT to a free one.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST is not an address of this machine: ${messageOf(error)}.`;
    case 'EACCES':
    case 'EPERM':
      return isAboutListening(error)
        ? `${addressOf(error)} may not be used by this user. Set PORT to one from 1024 on.`
        : unusableFolder(error, 'may not be used by this user');
    case 'EROFS':
      return unusableFolder(error, 'is on a disk that can only be read');
    case 'ENOTDIR':
    case 'EEXIST':
    case 'EISDIR':
    case 'ENOENT':
      return unusableFolder(error, 'can not be made, or is no folder');
    case 'ENOSPC':
    case 'EDQUOT':
      return unusableFolder(error, 'is on a disk without space left');
    default:
      return databaseTrouble(error);
  }
}

const READ_ONLY = '25006';

/** Explains errors of an opened database. If opening fails, openDatabase.ts names the address. */
function databaseTrouble(error: unknown): string | null {
  const refusal = refusedByDatabase(error);
  if (refusal?.code === READ_ONLY) {
    return (
      `The database can only be read (${refusal.message}). Set DATABASE_URL to the primary, or let the database be written ` +
      'to again: default_transaction_read_only may be on.'
    );
  }
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ((cause instanceof ConnectionLost || cause instanceof postgres.PostgresError) && isTransient(cause)) {
      return `The database did not answer to the end (${cause.message}). Start again once it does: nothing is lost by it.`;
    }
  }
  return null;
}

function isAboutListening(error: unknown): boolean {
  return (error as { syscall?: string }).syscall === 'listen';
}

/** The product writes only to DATA_DIR. An error without a path, or a missing file of ours, is a defect. */
function unusableFolder(error: unknown, problem: string): string | null {
  const { path, syscall } = error as { path?: string; syscall?: string };
  if (path === undefined || (codeOf(error) === 'ENOENT' && syscall !== 'mkdir')) return null;
  return `${path} ${problem} (${codeOf(error)}). Set DATA_DIR to a folder that this user may write to.`;
}

function addressOf(error: unknown): string {
  const { address, port } = error as { address?: string; port?: number };
  return `Port ${port ?? ''}${address === undefined ? '' : ` on ${address}`}`;
}
