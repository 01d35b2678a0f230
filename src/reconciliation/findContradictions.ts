/**
 * Checks the database against itself in SQL, without relying on triggers, checks or the program: the whole
 * database, or the rows that changed since a snapshot.
 */
import { sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connection.ts';
import { BOOKS_CONTRADICTIONS } from './contradictions/books.ts';
import { CALL_CONTRADICTIONS } from './contradictions/calls.ts';
import { OFF_RAMP_CONTRADICTIONS } from './contradictions/offRampSessions.ts';
import type { Contradiction } from './contradictions/contradiction.ts';
import { FEED_CONTRADICTIONS } from './contradictions/feed.ts';
import { HISTORY_CONTRADICTIONS } from './contradictions/history.ts';
import { HOLDER_CONTRADICTIONS } from './contradictions/holders.ts';
import { POSTING_CONTRADICTIONS } from './contradictions/postings.ts';
import { RETIREMENT_CONTRADICTIONS } from './contradictions/retirements.ts';
import { ROW_CONTRADICTIONS } from './contradictions/rows.ts';
import { SUBMISSION_CONTRADICTIONS } from './contradictions/submissions.ts';
import { TRANSPARENCY_CONTRADICTIONS } from './contradictions/transparency.ts';
import { collectChanges, makeExcerpt, type ChangedRows, type Snapshot } from './excerpt.ts';
import { MAX_FINDINGS, type Finding } from './verdicts.ts';

/** The queries read whole tables: minutes on a long history. */
const QUERY_TIMEOUT_MS = 30 * 60_000;
/** Memory of a sort or a hash table: the tables have many rows, and few such queries run at a time. */
const WORK_MEMORY = '64MB';

export const CONTRADICTIONS: readonly Contradiction[] = [
  // The transparency queries take longest. If they began last, one of the two connections would finish long
  // before the other.
  ...TRANSPARENCY_CONTRADICTIONS,
  ...BOOKS_CONTRADICTIONS,
  ...POSTING_CONTRADICTIONS,
  ...RETIREMENT_CONTRADICTIONS,
  ...SUBMISSION_CONTRADICTIONS,
  ...CALL_CONTRADICTIONS,
  ...FEED_CONTRADICTIONS,
  ...HOLDER_CONTRADICTIONS,
  ...OFF_RAMP_CONTRADICTIONS,
  ...HISTORY_CONTRADICTIONS,
  ...ROW_CONTRADICTIONS,
];

/** Compares at the snapshot of its transaction. */
type Comparing = (tx: Tx) => Promise<Finding[]>;

/**
 * Finds every contradiction in the database at one moment. Two connections share a snapshot, because a query
 * uses only one of the database's processors. The second one helps when a free connection exists.
 * @param beside another comparison at the same moment. It begins first, so that the process computes during
 *   the queries
 */
export async function findContradictions(
  db: Pick<Db, 'transaction'>,
  contradictions: readonly Contradiction[] = CONTRADICTIONS,
  beside?: Comparing,
): Promise<Finding[]> {
  const found: Finding[][] = [];
  const asked = contradictions.map(
    (contradiction): Comparing =>
      (tx) =>
        ask(tx, [contradiction]),
  );
  const waiting = [...(beside ? [beside, ...asked] : asked).entries()];
  const askWaiting = async (tx: Tx) => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [place, compare] = next;
      found[place] = await compare(tx);
    }
  };
  const helpers: Promise<void>[] = [];
  const help = (snapshot: string) =>
    inOneMoment(db, 'read only', async (tx) => {
      await tx.execute(sql.raw(`SET TRANSACTION SNAPSHOT '${snapshot}'`));
      const helping = askWaiting(tx);
      helpers.push(helping);
      await helping;
    });
  try {
    await inOneMoment(db, 'read only', async (tx) => {
      const [exported] = await tx.execute<{ id: string }>(sql`SELECT pg_export_snapshot() AS id`);
      // A helper that fails at its start leaves the queries to this connection: none was free, or the
      // snapshot has ended.
      help(exported?.id ?? '').catch(() => {});
      await askWaiting(tx);
    });
  } finally {
    waiting.length = 0;
    await Promise.all(helpers);
  }
  return found.flat();
}

export interface ChangedContradictions {
  findings: Finding[];
  changed: ChangedRows;
}

/**
 * Finds the contradictions that involve rows changed since the snapshot.
 * @param beside another comparison at the same moment
 * @returns null when the snapshot is of another database or too old, or too much has changed
 */
export async function findChangedContradictions(
  db: Pick<Db, 'transaction'>,
  snapshot: Snapshot,
  contradictions: readonly Contradiction[] = CONTRADICTIONS,
  beside: Comparing = async () => [],
): Promise<ChangedContradictions | null> {
  // The transaction writes only temporary tables.
  return inOneMoment(db, 'read write', async (tx) => {
    if (!(await collectChanges(tx, snapshot))) return null;
    const onWholeTables = contradictions.flatMap(({ invariant, query, incremental = 'EXCERPT' }) =>
      incremental === 'EXCERPT'
        ? []
        : [{ invariant, query: incremental === 'WHOLE' ? query : incremental.query }],
    );
    const findings = [...(await beside(tx)), ...(await ask(tx, onWholeTables))];
    const changed = await makeExcerpt(tx);
    const onExcerpt = contradictions.filter(({ incremental = 'EXCERPT' }) => incremental === 'EXCERPT');
    findings.push(...(await ask(tx, onExcerpt)));
    return { findings, changed };
  });
}

function inOneMoment<T>(
  db: Pick<Db, 'transaction'>,
  accessMode: 'read only' | 'read write',
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return db.transaction(
    async (tx) => {
      // Each query runs once, so compiling it costs more time than it saves.
      await tx.execute(sql.raw(`SET LOCAL jit = off; SET LOCAL work_mem = '${WORK_MEMORY}'`));
      return work(tx);
    },
    { isolationLevel: 'repeatable read', accessMode, statementTimeoutMs: QUERY_TIMEOUT_MS },
  );
}

async function ask(
  tx: Tx,
  contradictions: readonly Pick<Contradiction, 'invariant' | 'query'>[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { invariant, query } of contradictions) {
    // The limit is outside: with the limit inside, the planner would choose plans that are fast for many
    // findings, and slow for none.
    const limited = `WITH found AS MATERIALIZED (${query}) SELECT message FROM found LIMIT ${MAX_FINDINGS}`;
    const rows = await tx.execute<{ message: string }>(sql.raw(limited));
    findings.push(...rows.map(({ message }) => ({ invariant, message })));
  }
  return findings;
}
