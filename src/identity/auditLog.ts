/**
 * The audit log: one row for each field of each mutation, and for each field with which an operator reads
 * data of others.
 *
 *   open ─begin──row written──▶ the field runs ──▶ end: the outcome is added to the row
 *     │    └─can't be written: OVERLOADED, and nothing runs
 *     └─row──▶ the field's transaction writes the row with its effect ──▶ end adds an outcome that is missing
 *         └─nothing was committed ──▶ end: the whole row is written
 *
 * A field that is refused because the caller has no right to it is counted, and logged once a second:
 * strangers could fill the table with such rows.
 *
 * So every change has a record: a process that is killed in the middle leaves a row without an outcome, or
 * neither row nor change. Rows are written in batches: entries that arrive during a write go into the next
 * one.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import type { Clock, IdSource } from '../lib/clock.ts';
import { encodeAuditRow, type AuditRow } from '../db/auditRows.ts';
import type { Db } from '../db/connection.ts';
import { createBatcher } from '../lib/batches.ts';
import { createThrottledLog } from '../lib/throttledLog.ts';
import { DomainError, succeeds } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { PROGRAM_VERSION } from '../lib/programVersion.ts';
import type { Caller } from './roles.ts';
import { waitAtMost } from '../lib/timeout.ts';

/** The caller, the field and the client's address. */
interface AuditedField {
  requestId: string;
  caller: Caller | null;
  remoteAddress: string;
  field: string;
  targetIds: readonly string[];
}

type FieldOfCaller = Omit<AuditedField, 'targetIds'>;

interface AuditedOutcome {
  /** OK, DRY_RUN, or the code of the error. */
  outcome: string;
  /** Targets that the answer adds. */
  targetIds: readonly string[];
}

/** A mutation's entry on its way into the log. */
export interface OpenEntry {
  /**
   * Writes the entry, without an outcome, before its field runs.
   * @throws DomainError OVERLOADED when it can't
   */
  begin(): Promise<void>;
  /**
   * Returns the row, for a transaction that executes the field. If `outcome` is left out, `end` adds it. Call
   * `markWritten` when the transaction is committed.
   */
  row(outcome?: AuditedOutcome): AuditRow;
  markWritten(): void;
  /**
   * Adds the outcome in the background when the row is written; otherwise writes the whole row.
   * @returns whether the log has the row, or will have it
   */
  end(outcome: AuditedOutcome): Promise<boolean>;
}

/**
 * Writes an entry about an operator's read of others' data. It has no outcome, because it precedes the answer.
 * @returns whether the log has the entry
 */
export type WriteRead = (targetIds: readonly string[]) => Promise<boolean>;

export interface AuditLog {
  open(field: AuditedField): OpenEntry;
  /** Dates the entries of a field that begins to read. */
  openRead(field: FieldOfCaller): WriteRead;
  /** Counts a field that the caller has no right to, so that nothing of it ran. */
  countRefused(field: FieldOfCaller, code: string): void;
  /** Writes pending rows, for a few seconds at most. */
  stop(): Promise<void>;
}

/** Maximum rows of one statement. */
const MAX_ROWS = 500;
/** Delay before another attempt while the database is unavailable. */
const RETRY_MS = 1_000;
/** Maximum time to write the remaining outcomes when the server stops. */
const STOP_WRITES_MS = 5_000;

interface EndRow extends AuditedOutcome {
  id: string;
  endedAt: Date;
}

export function createAuditLog(deps: {
  db: Db;
  clock: Clock;
  ids: IdSource;
  log: Pick<Logger, 'error' | 'warn'>;
}): AuditLog {
  const { db, clock, ids, log } = deps;
  const writerId = ids.next();
  const refused = createThrottledLog(log, 'mutations were refused: their callers have no right to them');
  const starts = createBatcher({
    maxItems: MAX_ROWS,
    run: (rows: AuditRow[]) => writeStarts(db, writerId, rows, log),
  });
  const ends = createBatcher({
    maxItems: MAX_ROWS,
    // No outcome is rejected, because its mutation has happened. While the database is away, the rate limits
    // of mutations bound the outcomes: each refused mutation adds one, because its row may have been stored.
    maxWaiting: Infinity,
    run: (outcomes: EndRow[]) => writeOutcomes(db, outcomes, log),
  });
  let lastEnd: Promise<unknown> = Promise.resolve();
  const entries: Entries = {
    clock,
    write: starts.submit,
    addOutcome(id, outcome) {
      lastEnd = ends.submit({ id, ...outcome, endedAt: clock.now() });
    },
  };
  return {
    open: (field) => openEntry(entries, startRow('MUTATION', ids.next(), field, clock.now())),
    openRead(field) {
      const startedAt = clock.now();
      return (targetIds) =>
        succeeds(starts.submit(startRow('READ', ids.next(), { ...field, targetIds }, startedAt)));
    },
    countRefused: ({ caller, remoteAddress, field }, code) =>
      refused.count({
        codes: code,
        fields: field,
        remoteAddresses: remoteAddress,
        callers: caller?.subject ?? 'none',
      }),
    async stop() {
      refused.stop();
      await waitAtMost(STOP_WRITES_MS, lastEnd);
    },
  };
}

interface Entries {
  clock: Clock;
  write(row: AuditRow): Promise<unknown>;
  addOutcome(id: string, outcome: AuditedOutcome): void;
}

function openEntry({ clock, write, addOutcome }: Entries, start: AuditRow): OpenEntry {
  const withOutcome = ({ outcome, targetIds }: AuditedOutcome): AuditRow => ({
    outcome,
    endedAt: clock.now(),
    ...start,
    targetIds: [...start.targetIds, ...targetIds],
  });
  let given: AuditRow | null = null;
  let hasRow = false;
  return {
    async begin() {
      try {
        await write(start);
        hasRow = true;
      } catch (cause) {
        // If only the answer was lost, the row exists and needs an outcome: its field does not run.
        addOutcome(start.id, { outcome: 'OVERLOADED', targetIds: [] });
        throw auditUnavailable(cause);
      }
    },
    row(outcome) {
      given = outcome ? withOutcome(outcome) : start;
      return given;
    },
    markWritten() {
      hasRow = true;
    },
    async end(outcome) {
      if (hasRow) {
        if (given?.outcome == null) addOutcome(start.id, outcome);
        return true;
      }
      const isKept = await succeeds(write(withOutcome(outcome)));
      // The transaction may have committed its row and lost the answer: an existing row is not written again,
      // and gets its outcome here.
      if (given !== null && given.outcome == null) addOutcome(start.id, outcome);
      return isKept;
    },
  };
}

type ErrorLog = Pick<Logger, 'error'>;

function startRow(kind: AuditRow['kind'], id: string, field: AuditedField, startedAt: Date): AuditRow {
  return {
    id,
    kind,
    startedAt,
    requestId: field.requestId,
    callerSubject: field.caller?.subject ?? null,
    callerRoles: [...(field.caller?.roles ?? [])],
    apiKeyId: field.caller?.apiKeyId ?? null,
    remoteAddress: field.remoteAddress,
    field: field.field,
    targetIds: [...field.targetIds],
  };
}

/** Inserts rows, which the database numbers. Idempotent: rows that exist after a lost answer are left out. */
async function writeStarts(
  db: Db,
  writerId: string,
  rows: readonly AuditRow[],
  log: ErrorLog,
): Promise<undefined[]> {
  const listed = JSON.stringify(rows.map(encodeAuditRow));
  try {
    await db.execute(
      sql`SELECT insert_audit_entries(${writerId}, ${PROGRAM_VERSION}, ${listed}::text::json)`,
    );
  } catch (err) {
    log.error(
      { err, entries: rows.length },
      'audit entries could not be written; what they are about was not done',
    );
    throw err;
  }
  return rows.map(() => undefined);
}

/** Retries until the outcomes are written. Idempotent: only rows without an outcome are updated. */
async function writeOutcomes(db: Db, outcomes: readonly EndRow[], log: ErrorLog): Promise<undefined[]> {
  const listed = JSON.stringify(
    outcomes.map(({ id, outcome, endedAt, targetIds }) => ({
      id,
      outcome,
      ended_at: endedAt,
      target_ids: targetIds,
    })),
  );
  for (;;) {
    try {
      await db.execute(sql`SELECT end_audit_entries(${listed}::text::json)`);
      return outcomes.map(() => undefined);
    } catch (err) {
      log.error({ err, outcomes }, 'outcomes of audit entries could not be written; trying again');
      await delay(RETRY_MS);
    }
  }
}

export function auditUnavailable(cause?: unknown): DomainError {
  return new DomainError(
    'OVERLOADED',
    'What you asked for could not be written to the audit log, so nothing was done. Try again shortly.',
    { retryAfterSeconds: 1 },
    { cause },
  );
}
