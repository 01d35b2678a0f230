/**
 * Makes generated corruptions, one at a time, and reports what a reconciliation finds: queries within a
 * transaction that is rolled back, and comparisons outside of the database for the invariants that have one.
 */
import { sql as drizzleSql } from 'drizzle-orm';
import postgres from 'postgres';
import type { Db, Tx } from '../../../src/db/connection.ts';
import type { Contradiction } from '../../../src/reconciliation/contradictions/contradiction.ts';
import { readSnapshot } from '../../../src/reconciliation/excerpt.ts';
import {
  CONTRADICTIONS,
  findChangedContradictions,
  type ChangedContradictions,
} from '../../../src/reconciliation/findContradictions.ts';
import { compareOutside, reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { reconcileAttempts } from '../../../src/reconciliation/reconcileAttempts.ts';
import { reconcileDeposits } from '../../../src/reconciliation/reconcileDeposits.ts';
import { reconcilePayouts } from '../../../src/reconciliation/reconcilePayouts.ts';
import {
  add,
  INVARIANTS,
  nothingCompared,
  type Comparison,
  type Invariant,
  type NotProved,
} from '../../../src/reconciliation/verdicts.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { createTestDatabase, type TestDatabase } from '../database/database.ts';
import { embeddedNetworkOn, platformOn } from '../platform.ts';
import { makeRestorable } from '../restorable.ts';
import { generateCorruptions, type GeneratedCorruption } from './generatedCorruptions.ts';
import { logAll } from './logAll.ts';
import { reconcileLogs } from './reconcileLogs.ts';

interface Answer {
  /** Number of the contradiction. */
  number: number;
  message: string;
}

export interface Walk {
  corruptions: readonly GeneratedCorruption[];
  /** Whether one of the invariants finds it. */
  isFound(corruption: GeneratedCorruption, by: readonly Invariant[]): Promise<boolean>;
  /**
   * Counts the queries that found a change, and lists those that find none of the same changes in an
   * incremental run.
   */
  findBlind(): Promise<{ contradictions: number; blind: string[] }>;
  /** Makes a state. @returns what the queries say about it, in full and in an incremental run */
  sayOf(statements: string): Promise<{ full: string[]; incremental: string[] }>;
  /** Makes the corruptions together. @returns what a reconciliation finds */
  findAll(statements: readonly string[]): Promise<string[]>;
  close(): Promise<void>;
}

/**
 * Without parameters, the driver sends a query as a plain statement even if `prepare` is set, unless `simple`
 * is false.
 */
const PREPARED = { prepare: true, simple: false };

const obstacleOf = ({ invariant, obstacle }: NotProved) => `${invariant} ${obstacle}`;

/** Works on a copy of the database, without its rules. */
export async function openWalk(history: TestDatabase): Promise<Walk> {
  const database = await createTestDatabase({ copyOf: history });
  const platform = await platformOn(database.handle, await embeddedNetworkOn(database.handle));
  await logAll(platform.dependencies.logs);
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  await switchRulesOff(sql);
  const restorable = await makeRestorable(database);
  const askedBefore = new Map<string, Set<string>>();
  const foundBy = new Map<number, GeneratedCorruption[]>();

  /** Prepares the query, so that it is planned once. */
  const ask = async (by: readonly Invariant[]): Promise<Answer[]> => {
    const queries = [...CONTRADICTIONS.entries()].filter(([, { invariant }]) => by.includes(invariant));
    const text = queries.map(
      ([number, { query }]) => `(SELECT ${number} AS number, message FROM (${query}) AS found)`,
    );
    const nothing = 'SELECT 0 AS number, NULL AS message WHERE false';
    return sql.unsafe<Answer[]>([nothing, ...text].join(' UNION ALL '), [], PREPARED);
  };

  const findInDatabase = async (
    corruption: GeneratedCorruption,
    by: readonly Invariant[],
  ): Promise<boolean> => {
    const before = askedBefore.get(by.join()) ?? new Set((await ask(by)).map(({ message }) => message));
    askedBefore.set(by.join(), before);
    await sql.unsafe('BEGIN');
    try {
      await changeOne(sql, corruption.sql);
      const answers = (await ask(by)).filter(({ message }) => !before.has(message));
      for (const { number } of answers) {
        const found = foundBy.get(number) ?? [];
        const isOfOtherColumn = found.every(({ place }) => place !== corruption.place);
        if (corruption.leavesChangedRow && isOfOtherColumn) foundBy.set(number, [...found, corruption]);
      }
      return answers.length > 0;
    } finally {
      await sql.unsafe('ROLLBACK');
    }
  };

  const untouched = await reconcileAll(platform.dependencies);
  const known = new Set(untouched.findings.map(({ message }) => message));
  const obstacles = new Set(untouched.notProved.map(obstacleOf));
  /** Obstacles compare by invariant and kind: their messages count the calls under way. */
  const whatIsNew = ({ findings, notProved }: Comparison) => [
    ...findings.filter(({ message }) => !known.has(message)),
    ...notProved.filter((one) => !obstacles.has(obstacleOf(one))),
  ];

  const findOutside = async (statement: string, by: readonly Invariant[]): Promise<boolean> => {
    await changeOne(sql, statement);
    const compared = nothingCompared();
    for (const invariant of by) add(compared, await compareInvariant(platform, invariant));
    await restorable.restore();
    return whatIsNew(compared).some(({ invariant }) => by.includes(invariant));
  };

  const { db } = platform.dependencies;
  /** Returns what an incremental run says about a state. */
  const sayIncrementally = async (
    statement: string,
    contradictions: readonly Contradiction[],
  ): Promise<string[]> => {
    const snapshot = await readSnapshot(db);
    const undone = new Error('it is undone');
    let found: ChangedContradictions | null = null;
    const attempt = db.transaction(async (tx) => {
      await tx.execute(drizzleSql`SET LOCAL session_replication_role = replica`);
      for (const one of statement.split(';')) await tx.execute(drizzleSql.raw(one));
      const nested = { transaction: (work: (inner: Tx) => Promise<unknown>) => tx.transaction(work) } as Db;
      found = await findChangedContradictions(nested, snapshot, contradictions);
      throw undone;
    });
    await attempt.catch((error: unknown) => {
      if (error !== undone) throw error;
    });
    const { findings } = (found ?? { findings: [] }) as Pick<ChangedContradictions, 'findings'>;
    return findings.map(({ message }) => message);
  };
  /** Returns the numbers of these contradictions that an incremental run finds. */
  const findIncrementally = async (numbers: readonly number[], statement: string): Promise<Set<number>> => {
    const said = await sayIncrementally(statement, numbers.map(numberedContradiction));
    return new Set(said.map((message) => Number.parseInt(message)));
  };

  return {
    corruptions: await generateCorruptions(sql),
    isFound: async (corruption, by) =>
      (await findInDatabase(corruption, by)) || findOutside(corruption.sql, by),
    async findBlind() {
      const unseen = new Map<GeneratedCorruption, number[]>();
      const blind = new Set<number>();
      for (const [number, corruptions] of foundBy) {
        if (isAskedInFullAlone(contradictionOf(number))) continue;
        blind.add(number);
        for (const one of corruptions) unseen.set(one, [...(unseen.get(one) ?? []), number]);
      }
      // Changes that many queries found come first: collecting a change costs more than the queries.
      for (const [{ sql: statement }, numbers] of [...unseen].sort(([, a], [, b]) => b.length - a.length)) {
        const toAsk = numbers.filter((number) => blind.has(number));
        if (toAsk.length === 0) continue;
        for (const number of await findIncrementally(toAsk, statement)) blind.delete(number);
      }
      return {
        contradictions: foundBy.size,
        blind: [...blind].map((number) => contradictionOf(number).query),
      };
    },
    async sayOf(statements) {
      await sql.unsafe('BEGIN');
      try {
        for (const statement of statements.split(';')) await sql.unsafe(statement);
        const full = (await ask(Object.keys(INVARIANTS) as Invariant[])).map(({ message }) => message);
        await sql.unsafe('ROLLBACK');
        return { full, incremental: await sayIncrementally(statements, CONTRADICTIONS) };
      } finally {
        await sql.unsafe('ROLLBACK');
      }
    },
    async findAll(statements) {
      for (const statement of statements) await changeOne(sql, statement);
      const found = whatIsNew(await reconcileAll(platform.dependencies));
      await restorable.restore();
      return found.map(({ message }) => message);
    },
    async close() {
      await Promise.all([restorable.close(), sql.end(), platform.stop()]);
      await database.drop();
    },
  };
}

function contradictionOf(number: number): Contradiction {
  const contradiction = CONTRADICTIONS[number];
  if (contradiction === undefined) throw new Error(`there is no contradiction ${number}`);
  return contradiction;
}

/** Puts the number before each finding. */
function numberedContradiction(number: number): Contradiction {
  const contradiction = contradictionOf(number);
  const numbered = (query: string) => `SELECT '${number} ' || message AS message FROM (${query}) AS found`;
  const { query, incremental } = contradiction;
  return {
    ...contradiction,
    query: numbered(query),
    ...(typeof incremental === 'object' ? { incremental: { query: numbered(incremental.query) } } : {}),
  };
}

const isAskedInFullAlone = ({ incremental }: Contradiction) =>
  typeof incremental === 'object' && incremental.query.endsWith('WHERE false');

/**
 * Switches off triggers, foreign keys, checks and unique keys, but not primary keys, which distinguish rows.
 */
async function switchRulesOff(sql: postgres.Sql): Promise<void> {
  await sql`SET session_replication_role = replica`;
  await sql`SET jit = off`;
  const dropped = await sql<{ statement: string }[]>`
    SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS statement
    FROM pg_constraint WHERE contype IN ('c', 'u') AND connamespace = 'public'::regnamespace
    UNION ALL
    SELECT format('DROP INDEX %s', indexrelid::regclass) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE indisunique AND c.relnamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid)
    UNION ALL SELECT 'ALTER TABLE accounts ALTER COLUMN id DROP IDENTITY'`;
  await sql.unsafe(dropped.map(({ statement }) => statement).join('; '));
  await sql`ANALYZE`;
}

async function changeOne(sql: postgres.Sql, statement: string): Promise<void> {
  const { count } = await sql.unsafe(statement);
  if (count !== 1) throw new Error(`it changed ${count} rows: ${statement}`);
}

/** Runs the comparison of an invariant with something outside of the database's queries. */
async function compareInvariant({ dependencies }: Platform, invariant: Invariant): Promise<Comparison> {
  if (invariant === 'I12') return reconcileAttempts(dependencies);
  if (invariant === 'I15') return reconcileLogs(dependencies);
  if (invariant !== 'I8' && invariant !== 'I13') return (await compareOutside(dependencies)).ofNetwork;
  const compared = await reconcileDeposits(dependencies);
  add(compared, await reconcilePayouts(dependencies));
  return compared;
}
