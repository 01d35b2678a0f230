/**
 * Seals all stored sealed texts anew, under the first of the sealer's keys, so that the others are no longer
 * needed.
 *
 *   a page of rows under another key ─▶ locked ─▶ opened and sealed anew ─▶ committed ─▶ the next page
 *
 * A run that is killed between two pages leaves rows under both keys, and the next run seals the rest. Two
 * runs at once wait for each other's pages, and then find them done. The plain texts stay the same, so the
 * server runs meanwhile.
 */
import { sql, type SQL } from 'drizzle-orm';
import { messageOf } from '../lib/errors.ts';
import type { Sealer } from '../lib/sealer.ts';
import type { Db } from './connection.ts';
import { givenRows, isGiven } from './manyRows.ts';
import { SEALED_COLUMNS } from './sealedColumns.ts';

/** Rows locked at a time, for some milliseconds; a payout that needs one of the rows waits as long. */
const ROWS_PER_PAGE = 200;
/** Deadline of a count, which reads every row. */
const COUNT_TIMEOUT_MS = 60_000;
/** Maximum problems shown: as many as a person looks into. */
const MAX_NAMED = 10;

export interface ResealReport {
  resealed: number;
  /** Rows still under another key: they don't open, or an instance still seals with that key. */
  left: number;
  /** Why rows do not open, for the first of them. */
  problems: string[];
}

interface ResealOptions {
  db: Db;
  sealer: Sealer;
  /** Called after each page with the number of finished rows and the approximate total. */
  onProgress?: (done: number, total: number) => void;
  rowsPerPage?: number;
}

type Column = (typeof SEALED_COLUMNS)[keyof typeof SEALED_COLUMNS];

/** Seals every stored secret anew under the first key. May run beside servers, and be repeated. */
export async function resealAll(options: ResealOptions): Promise<ResealReport> {
  const { onProgress = () => {} } = options;
  const problems: string[] = [];
  let resealed = 0;
  let left = await countLeft(options);
  for (;;) {
    const before = left;
    const total = resealed + left;
    problems.length = 0;
    for (const column of Object.values(SEALED_COLUMNS)) {
      for await (const page of pagesOf(options, column)) {
        resealed += page.resealed;
        problems.push(...page.problems.slice(0, MAX_NAMED - problems.length));
        onProgress(resealed, Math.max(total, resealed));
      }
    }
    left = await countLeft(options);
    // Another process may have sealed rows with the old key: the rounds go on while fewer rows are left.
    if (left === 0 || left >= before) return { resealed, left, problems };
  }
}

interface Page {
  resealed: number;
  problems: string[];
}

/** Goes from the first row to the last, and leaves out a row that does not open. */
async function* pagesOf(
  { db, sealer, rowsPerPage = ROWS_PER_PAGE }: ResealOptions,
  { table, column }: Column,
): AsyncGenerator<Page, void, void> {
  const [name, text] = [sql.identifier(table), sql.identifier(column)];
  let after: string | null = null;
  for (;;) {
    const page: Page & { last: string | null } = await db.transaction(async (tx) => {
      const rows: { id: string; sealed: string }[] = await tx.execute(sql`
        SELECT id, ${text} AS sealed FROM ${name}
        WHERE ${isOld(text, sealer)} AND (${after}::uuid IS NULL OR id > ${after}::uuid)
        ORDER BY id LIMIT ${rowsPerPage} FOR UPDATE`);
      const problems: string[] = [];
      const anew = rows.flatMap(({ id, sealed }) => {
        try {
          return [
            { id, sealed: sealer.seal(sealer.unseal(sealed, { table, column, id }), { table, column, id }) },
          ];
        } catch (error) {
          problems.push(`${table}.${column} of ${id}: ${messageOf(error)}`);
          return [];
        }
      });
      if (anew.length > 0) {
        await tx.execute(sql`${givenRows(anew, 'id uuid, sealed text')}
          UPDATE ${name} AS t SET ${text} = v.sealed FROM v WHERE ${isGiven('t.id')}`);
      }
      return { last: rows.at(-1)?.id ?? null, resealed: anew.length, problems };
    });
    // Empty at the end, or when another process was quicker; the next round finds the remaining rows.
    if (page.last === null) return;
    after = page.last;
    yield page;
  }
}

async function countLeft({ db, sealer }: ResealOptions): Promise<number> {
  const counts = Object.values(SEALED_COLUMNS).map(
    ({ table, column }) =>
      sql`SELECT count(*) AS rows FROM ${sql.identifier(table)} WHERE ${isOld(sql.identifier(column), sealer)}`,
  );
  return db.transaction(
    async (tx) => {
      const [row] = await tx.execute<{ left: string }>(
        sql`SELECT sum(rows)::text AS left FROM (${sql.join(counts, sql` UNION ALL `)}) AS counted`,
      );
      return Number(row?.left ?? 0);
    },
    { statementTimeoutMs: COUNT_TIMEOUT_MS },
  );
}

function isOld(text: ReturnType<typeof sql.identifier>, { currentPrefix }: Sealer): SQL {
  return sql`${text} IS NOT NULL AND NOT starts_with(${text}, ${currentPrefix})`;
}
