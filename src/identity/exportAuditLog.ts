/**
 * Writes old entries of the audit log to a file, and removes them if `prune` is set: each process's entries
 * from its first one on, without a gap, so that the remaining entries still prove their completeness.
 *
 *   entries before the day ─▶ lines, on the disk ─▶ removed, with the number and digest of the lines kept
 */
import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { refusedByDatabase } from '../db/refusedByDatabase.ts';
import { codeOf, innermostMessage } from '../lib/errors.ts';
import { StartupError } from '../lib/startupErrors.ts';

/** Bounds the memory and lock time of one step; an entry has some hundred bytes. */
const ENTRIES_PER_STEP = 5_000;

interface AuditExport {
  db: Db;
  /** Longer ago than any mutation takes: entries without an outcome get none any more. */
  before: Date;
  /** The file to write, which must not exist. */
  path: string;
  /** Whether exported entries are removed from the database. */
  prune: boolean;
}

interface Line {
  number: string;
  line: string;
}

/** Numbers of entries in this run. */
interface Progress {
  inFile: number;
  /** Entries whose removal was asked for; if the answer was lost, they may be removed. */
  asked: number;
  removed: number;
}

/**
 * @returns the number of entries in the file
 * @throws StartupError when the file exists, when entries are missing, and when some are in the file alone
 */
export async function exportAuditLog({ db, before, path, prune }: AuditExport): Promise<number> {
  const file = await openNew(path);
  const progress: Progress = { inFile: 0, asked: 0, removed: 0 };
  try {
    await syncFolder(dirname(path));
    const writers = await db.execute<{ id: string; pruned: string }>(
      sql`SELECT id, pruned::text FROM audit_writers WHERE pruned < entries ORDER BY id`,
    );
    for (const writer of writers) {
      let done = BigInt(writer.pruned);
      for (;;) {
        const lines = await nextLines(db, writer.id, done, before);
        const last = lines.at(-1);
        if (last === undefined) break;
        refuseGaps(writer.id, done, lines);
        const digest = await write(file, lines);
        const first = (done + 1n).toString();
        done = BigInt(last.number);
        progress.inFile += lines.length;
        if (!prune) continue;
        progress.asked = progress.inFile;
        await db.execute(sql`SELECT prune_audit_entries(${writer.id}, ${first}, ${last.number}, ${digest})`);
        progress.removed = progress.inFile;
      }
    }
  } catch (error) {
    throw sayWhatIsOnlyHere(path, progress, error);
  } finally {
    await file.close();
  }
  return progress.inFile;
}

async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    const code = codeOf(error);
    throw new StartupError(
      code === 'EEXIST'
        ? `${path} exists. An earlier export with --prune may have removed from the database what is in it: keep it, and give ` +
            'this export another file name.'
        : `${path} can't be made (${code}), and nothing was exported. Name a file in a folder that is there and that this user ` +
            'may write to.',
      { cause: error },
    );
  }
}

/** Says which entries only this file has: otherwise an operator would discard it as a failed try. */
function sayWhatIsOnlyHere(path: string, { asked, removed }: Progress, error: unknown): unknown {
  const atMost = refusedByDatabase(error) === null ? asked : removed;
  if (atMost === 0) return error;
  const entries = atMost === removed ? `${removed}` : `at least ${removed} and at most ${atMost}`;
  return new StartupError(
    `The export has stopped, and ${entries} entries are removed from the database and are in ${path} alone: keep this file, ` +
      `and export the rest to another one. What has stopped it: ${innermostMessage(error)}`,
    { cause: error },
  );
}

/** Reads the next entries, up to the first one that is too young. */
function nextLines(db: Db, writerId: string, done: bigint, before: Date): Promise<Line[]> {
  return db.execute<{ number: string; line: string }>(sql`
    WITH page AS (
      SELECT e AS entry, number, started_at FROM audit_entries e
      WHERE writer_id = ${writerId} AND number > ${done.toString()}
      ORDER BY number LIMIT ${ENTRIES_PER_STEP})
    SELECT number::text, audit_line(entry) AS line FROM page
    WHERE number < coalesce((
      SELECT min(number) FROM page WHERE started_at >= ${before.toISOString()}), 9223372036854775807)
    ORDER BY number`);
}

/** After a gap, the digest of the remaining entries would prove that nothing was ever missing. */
function refuseGaps(writerId: string, done: bigint, lines: readonly Line[]): void {
  const missing: string[] = [];
  let next = done + 1n;
  for (const number of lines.map((line) => BigInt(line.number))) {
    if (number > next) missing.push(number === next + 1n ? `${next}` : `${next} to ${number - 1n}`);
    next = number + 1n;
  }
  if (missing.length === 0) return;
  throw new StartupError(
    `Entries of the audit log are missing: of process ${writerId}, number ${missing.join(', ')}. Nothing of it from number ` +
      `${done + 1n} on was exported or removed. Find out who deleted them: only the owner of the tables can.`,
  );
}

/** Writes a new file's name to the disk: otherwise a power failure loses the file and the pruned entries. */
async function syncFolder(path: string): Promise<void> {
  // Windows has no such call for folders, and keeps their entries without it.
  if (process.platform === 'win32') return;
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function write(file: FileHandle, lines: readonly Line[]): Promise<Buffer> {
  const text = lines.map(({ line }) => `${line}\n`).join('');
  await file.appendFile(text);
  await file.sync();
  return createHash('sha256').update(text).digest();
}
