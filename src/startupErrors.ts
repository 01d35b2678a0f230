/**
 * What can keep the process from starting, as one clear sentence for whoever sits at the terminal.
 */
import { WrongInstallation } from './ledger/network/claimInstallation.ts';
import { messageOf } from './errors.ts';
import { WrongNetwork } from './ledger/network/nodeIdentity.ts';
import { NetworkUnavailable } from './ledger/network/port.ts';

/** A start that can't go on, for a reason that the operator can mend. The message is all they see. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}

/** Settings that are wrong, each in a sentence that begins with its name. */
export class WrongSettings extends StartupError {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `${problems.length === 1 ? 'A setting is' : `${problems.length} settings are`} wrong:\n` +
        problems.map((problem) => `  ${problem}`).join('\n'),
    );
    this.problems = problems;
  }
}

/** @returns the sentence for a known cause, or null for a defect that deserves its stack trace. */
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
      return null;
  }
}

function isAboutListening(error: unknown): boolean {
  return (error as { syscall?: string }).syscall === 'listen';
}

/** What the product writes to is in DATA_DIR. No path, or a missing file that is ours, is a defect. */
function unusableFolder(error: unknown, problem: string): string | null {
  const { path, syscall } = error as { path?: string; syscall?: string };
  if (path === undefined || (codeOf(error) === 'ENOENT' && syscall !== 'mkdir')) return null;
  return `${path} ${problem} (${codeOf(error)}). Set DATA_DIR to a folder that this user may write to.`;
}

/** The embedded PostgreSQL runs, but what is in it can't be brought to this version's schema. */
export function migrationFailed(error: unknown): StartupError {
  return new StartupError(
    `The database under DATA_DIR can't be migrated: ${innermostMessage(error)}. If a newer version of this ` +
      'program made it, start that one; otherwise please report this.',
    { cause: error },
  );
}

/** Sentences for what goes wrong between this process and the configured database. */
export function databaseUnreachable(url: string, error: unknown): StartupError {
  const { host, pathname } = new URL(url);
  return new StartupError(
    `The database ${pathname.slice(1)} at ${host} can't be used: ${innermostMessage(error)}. ` +
      'Check DATABASE_URL, or leave it out to use the embedded PostgreSQL.',
    { cause: error },
  );
}

/** Drizzle puts the whole statement around what the database said. */
function innermostMessage(error: unknown): string {
  if (error instanceof Error && error.cause instanceof Error) return innermostMessage(error.cause);
  return messageOf(error) || codeOf(error);
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

function addressOf(error: unknown): string {
  const { address, port } = error as { address?: string; port?: number };
  return `Port ${port ?? ''}${address === undefined ? '' : ` on ${address}`}`;
}
