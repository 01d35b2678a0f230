/**
 * What can keep the process from starting, as one clear sentence for whoever sits at the terminal.
 */
import { WrongInstallation } from './ledger/network/claimInstallation.ts';
import { messageOf } from './errors.ts';

/** A start that can't go on, for a reason that the operator can mend. The message is all they see. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}

/** @returns the sentence for a known cause, or null for a defect that deserves its stack trace. */
export function explainStartupError(error: unknown): string | null {
  if (error instanceof StartupError || error instanceof WrongInstallation) return error.message;
  const code = codeOf(error);
  switch (code) {
    case 'EADDRINUSE':
      return `${addressOf(error)} is in use by another program. Stop it, or set PORT to a free one.`;
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `${pathOf(error)} may not be written. Set DATA_DIR to a folder that this user may write to.`;
    case 'ENOSPC':
      return `There is no space left on the disk: ${messageOf(error)}.`;
    case 'EADDRNOTAVAIL':
      return `HOST is not an address of this machine: ${messageOf(error)}.`;
    default:
      return null;
  }
}

/** Sentences for what goes wrong between this process and the configured database. */
export function databaseUnreachable(url: string, error: unknown): StartupError {
  const { host, pathname } = new URL(url);
  return new StartupError(
    `The database ${pathname.slice(1)} at ${host} can't be used: ${messageOf(error) || codeOf(error)}. ` +
      'Check DATABASE_URL, or leave it out to use the embedded PostgreSQL.',
    { cause: error },
  );
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

function addressOf(error: unknown): string {
  const { address, port } = error as { address?: string; port?: number };
  return `Port ${port ?? ''}${address === undefined ? '' : ` on ${address}`}`;
}

function pathOf(error: unknown): string {
  const { path } = error as { path?: string };
  return path ?? messageOf(error);
}
