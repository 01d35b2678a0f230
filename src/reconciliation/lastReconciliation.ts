/**
 * Reconciles, and keeps the verdicts. An incremental run compares the changes since everything last agreed,
 * and adds its findings to the known ones. A full run compares everything, and drops known findings that it
 * could compare and no longer finds.
 */
import { getTableColumns, sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connection.ts';
import { readDatabaseTime } from '../db/databaseTime.ts';
import { reconciledInvariants, reconciliationSchedule } from '../db/tables/index.ts';
import { storableText } from '../ledger/network/foreignText.ts';
import { readSnapshot, type Snapshot } from './excerpt.ts';
import {
  reconcileAll,
  reconcileChanged,
  type ReconcileAllDependencies,
  type ReconciliationReport,
} from './reconcileAll.ts';
import {
  INVARIANTS,
  MAX_FINDINGS,
  verdictsOf,
  type Comparison,
  type NotProved,
  type Verdict,
} from './verdicts.ts';

export type LastVerdict = Omit<typeof reconciledInvariants.$inferSelect, keyof Comparison> & Comparison;

export interface KeptReconciliation extends ReconciliationReport {
  /** The time from which changes were compared; null when everything was compared. */
  since: Date | null;
  /** Whether an earlier run gave that time. Everything was compared nevertheless if too much had changed. */
  hadStart: boolean;
}

/**
 * Obstacles that let the next incremental run start from this one: items under way or under review are
 * compared each time, and items without data are kept until a full run. Unanswered questions are asked again.
 */
const IS_PASSED_BY: ReadonlySet<NotProved['obstacle']> = new Set(['UNDER_WAY', 'UNDER_REVIEW', 'NO_DATA']);

/**
 * An incremental run becomes a full one when no earlier run gives a start.
 * @throws NetworkUnavailable; the verdicts are then those of the run before
 */
export async function reconcileAndKeep(
  deps: ReconcileAllDependencies,
  { isFull, onProgress }: { isFull: boolean; onProgress?: (done: number) => void },
): Promise<KeptReconciliation> {
  const last = await readLastVerdicts(deps.db);
  const snapshot = await readSnapshot(deps.db);
  const start = isFull ? null : findStart(last);
  const changed = start && (await reconcileChanged(deps, start));
  const report = changed ?? (await reconcileAll(deps, onProgress));
  const since = changed ? (start?.agreedAt ?? null) : null;
  const verdicts = await deps.db.transaction(async (tx) => {
    // One run at a time keeps its verdicts, and adds them to those that others have kept meanwhile.
    await tx.select().from(reconciliationSchedule).for('update');
    const now = await readLastVerdicts(tx);
    const run = { snapshot, isFull: since === null, at: await readDatabaseTime(tx) };
    const kept = report.verdicts.map((verdict) => {
      const { invariant } = verdict;
      const known = now.get(invariant);
      // A full run has looked for the findings known at its start itself, wherever it could compare.
      const isLookedFor = run.isFull && isCompared(verdict);
      return withKnown(verdict, isLookedFor ? addedSince(last.get(invariant), known) : known);
    });
    await keep(
      tx,
      kept.map((verdict) => rowOf(verdict, { ...run, last: now.get(verdict.invariant) })),
    );
    return kept;
  });
  return { ...report, verdicts, since, hadStart: start !== null };
}

export async function readLastVerdicts(db: Pick<Db, 'select'>): Promise<ReadonlyMap<string, LastVerdict>> {
  const rows = (await db.select().from(reconciledInvariants)) as LastVerdict[];
  return new Map(rows.map((row) => [row.invariant, row]));
}

/** Returns the invariants whose last verdict is BROKEN. */
export async function findBroken(db: Pick<Db, 'select'>): Promise<string[]> {
  const last = await readLastVerdicts(db);
  return [...last.values()]
    .flatMap(({ invariant, verdict }) => (verdict === 'BROKEN' ? [invariant] : []))
    .sort();
}

/**
 * The earliest snapshot of the invariants that are not broken. Broken ones wait for a full run, and delay no
 * other. Null when an invariant never agreed.
 */
function findStart(last: ReadonlyMap<string, LastVerdict>): (Snapshot & { agreedAt: Date }) | null {
  const snapshots: (Snapshot & { agreedAt: Date })[] = [];
  for (const invariant of Object.keys(INVARIANTS)) {
    const row = last.get(invariant);
    if (row?.verdict === 'BROKEN') continue;
    if (!row?.database || !row.transaction || !row.agreedAt) return null;
    snapshots.push({ database: row.database, transaction: row.transaction, agreedAt: row.agreedAt });
  }
  const [first, ...others] = snapshots;
  if (first === undefined) return null;
  if (others.some(({ database }) => database !== first.database)) return null;
  return others.reduce((a, b) => (BigInt(b.transaction) < BigInt(a.transaction) ? b : a), first);
}

interface Run {
  last: LastVerdict | undefined;
  snapshot: Snapshot;
  isFull: boolean;
  at: Date;
}

function rowOf({ invariant, verdict, findings, notProved }: Verdict, run: Run): LastVerdict {
  const { last, snapshot, isFull, at } = run;
  const agrees = verdict !== 'BROKEN' && isCompared({ notProved });
  return {
    invariant,
    verdict,
    findings: storable(findings),
    notProved: storable(notProved),
    database: agrees ? snapshot.database : (last?.database ?? null),
    transaction: agrees ? snapshot.transaction : (last?.transaction ?? null),
    agreedAt: agrees ? at : (last?.agreedAt ?? null),
    comparedAt: at,
    fullyComparedAt: isFull && isCompared({ notProved }) ? at : (last?.fullyComparedAt ?? null),
  };
}

interface Found {
  message: string;
  obstacle?: string;
}

/** The same sentence with another obstacle is another finding. */
const textOf = ({ obstacle, message }: Found) => `${obstacle ?? ''}: ${message}`;

function storable<T extends Found>(list: readonly T[]): T[] {
  const byText = new Map<string, T>();
  for (const item of list) {
    const stored = { ...item, message: storableText(item.message) };
    byText.set(textOf(stored), stored);
  }
  return [...byText.values()].slice(0, MAX_FINDINGS);
}

function isCompared({ notProved }: Pick<Verdict, 'notProved'>): boolean {
  return notProved.every(({ obstacle }) => IS_PASSED_BY.has(obstacle));
}

function addedSince(before: Comparison | undefined, now: Comparison | undefined): Comparison {
  return {
    findings: without(now?.findings, before?.findings),
    notProved: without(now?.notProved, before?.notProved),
  };
}

/** Adds the parts that stay until a full run: known findings, and items without data. */
function withKnown(verdict: Verdict, known: Comparison | undefined): Verdict {
  const { invariant } = verdict;
  const endless = (known?.notProved ?? []).filter(({ obstacle }) => obstacle === 'NO_DATA');
  const findings = joined(known?.findings ?? [], verdict.findings);
  const notProved = joined(endless, verdict.notProved);
  return verdictsOf({ findings, notProved }, [invariant])[0] ?? verdict;
}

function joined<T extends Found>(known: readonly T[], fresh: readonly T[]): T[] {
  return [...without(known, fresh), ...fresh];
}

function without<T extends Found>(list: readonly T[] = [], others: readonly T[] = []): T[] {
  const texts = new Set(others.map(textOf));
  return list.filter((item) => !texts.has(textOf(item)));
}

async function keep(tx: Tx, rows: readonly LastVerdict[]): Promise<void> {
  const columns = Object.entries(getTableColumns(reconciledInvariants));
  await tx
    .insert(reconciledInvariants)
    .values([...rows])
    .onConflictDoUpdate({
      target: reconciledInvariants.invariant,
      set: Object.fromEntries(columns.map(([field, { name }]) => [field, sql.raw(`excluded.${name}`)])),
    });
}
