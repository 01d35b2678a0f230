/**
 * The trail of who changed what: one row for each field of each mutation, written before it runs.
 *
 *   begin ──row written──▶ the field runs ──▶ end ──outcome added to the row
 *     └─can't be written: OVERLOADED, and nothing runs
 *
 * So nothing is ever changed without a trace: a process that is killed in the middle leaves a row without an
 * outcome. Rows are written in batches: what arrives while one is written goes into the next.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import type { Clock, IdSource } from '../clock.ts';
import type { Db } from '../db/connection.ts';
import { auditEntries } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Caller } from './roles.ts';

/** Who does what, and from where. */
export interface AuditedField {
  requestId: string;
  caller: Caller | null;
  remoteAddress: string;
  field: string;
  subjectIds: readonly string[];
}

export interface AuditedOutcome {
  /** OK, or the code of the error. */
  outcome: string;
  /** What the answer adds to the subjects. */
  subjectIds: readonly string[];
}

/** Ends one entry; never throws, and nobody has to wait. */
export type EndEntry = (outcome: AuditedOutcome) => void;

export interface AuditTrail {
  /** Resolves when the row is written. @throws DomainError OVERLOADED when it can't be */
  begin(field: AuditedField): Promise<EndEntry>;
  /** Writes what is left, for a few seconds at most. */
  stop(): Promise<void>;
}

/** For servers without a database. */
export const noAuditTrail: AuditTrail = { begin: async () => () => undefined, stop: async () => undefined };

const MAX_ROWS_PER_STATEMENT = 500;
/** A database that is away is asked again after this long. */
const RETRY_MS = 1_000;
const STOP_GRACE_MS = 5_000;

type StartRow = typeof auditEntries.$inferInsert;

interface EndRow {
  id: string;
  outcome: string;
  endedAt: Date;
  subjectIds: readonly string[];
}

interface Start {
  row: StartRow;
  written: () => void;
  failed: (error: unknown) => void;
}

export function createAuditTrail(deps: {
  db: Db;
  clock: Clock;
  ids: IdSource;
  log: Pick<Logger, 'error'>;
}): AuditTrail {
  const { db, clock, ids, log } = deps;
  const starts = createBatches<Start>(async (batch) => {
    try {
      await db.insert(auditEntries).values(batch.map(({ row }) => row));
      for (const start of batch) start.written();
    } catch (err) {
      log.error({ err, entries: batch.length }, 'audit entries could not be written; nothing was run');
      for (const start of batch) start.failed(err);
    }
  });
  // As many as mutations were under way when the database went away: no new one starts without it.
  const ends = createBatches<EndRow>(async (batch) => {
    try {
      await writeOutcomes(db, batch);
    } catch (err) {
      log.error({ err, outcomes: batch }, 'outcomes of audit entries could not be written; trying again');
      await delay(RETRY_MS);
      for (const end of batch) ends.add(end);
    }
  });
  return {
    begin: (field) =>
      new Promise((resolve, reject) => {
        const id = ids.next();
        starts.add({
          row: startRow(id, field, clock.now()),
          written: () => resolve((outcome) => ends.add({ id, endedAt: clock.now(), ...outcome })),
          failed: (cause) => {
            // Should only the answer have been lost, the row says what became of it.
            ends.add({ id, endedAt: clock.now(), outcome: 'OVERLOADED', subjectIds: [] });
            reject(notWritten(cause));
          },
        });
      }),
    async stop() {
      const patience = new AbortController();
      await Promise.race([
        ends.settle(),
        delay(STOP_GRACE_MS, undefined, { signal: patience.signal }).catch(() => undefined),
      ]);
      patience.abort();
    },
  };
}

function startRow(id: string, field: AuditedField, startedAt: Date): StartRow {
  return {
    id,
    startedAt,
    requestId: field.requestId,
    callerSubject: field.caller?.subject ?? null,
    callerRoles: [...(field.caller?.roles ?? [])],
    apiKeyId: field.caller?.apiKeyId ?? null,
    remoteAddress: field.remoteAddress,
    field: field.field,
    subjectIds: [...field.subjectIds],
  };
}

/** Again after a lost answer changes nothing: only rows without an outcome are touched. */
async function writeOutcomes(db: Db, batch: readonly EndRow[]): Promise<void> {
  const rows = JSON.stringify(
    batch.map(({ id, outcome, endedAt, subjectIds }) => ({
      id,
      outcome,
      ended_at: endedAt,
      subject_ids: subjectIds,
    })),
  );
  await db.execute(sql`
    UPDATE audit_entries AS entry
    SET outcome = ended.outcome, ended_at = ended.ended_at, subject_ids = entry.subject_ids || ended.subject_ids
    FROM jsonb_to_recordset(${rows}::text::jsonb)
      AS ended(id uuid, outcome text, ended_at timestamptz, subject_ids text[])
    WHERE entry.id = ended.id AND entry.outcome IS NULL`);
}

/** Writes what was added, one batch at a time. `write` never rejects. */
function createBatches<Item>(write: (batch: Item[]) => Promise<void>) {
  let waiting: Item[] = [];
  let writing: Promise<void> | null = null;
  const writeAll = async () => {
    // What is added in this turn of the event loop goes together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_ROWS_PER_STATEMENT);
      waiting = waiting.slice(MAX_ROWS_PER_STATEMENT);
      await write(batch);
    }
    writing = null;
  };
  return {
    add(item: Item): void {
      waiting.push(item);
      writing ??= writeAll();
    },
    settle: async () => {
      await writing;
    },
  };
}

function notWritten(cause: unknown): DomainError {
  return new DomainError(
    'OVERLOADED',
    'What you asked for could not be written to the audit trail, so nothing was done. Try again shortly.',
    { retryAfterSeconds: 1 },
    { cause },
  );
}
