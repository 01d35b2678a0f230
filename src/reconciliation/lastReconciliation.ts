/**
 * Reconciles, and keeps the verdicts: an incremental run compares from where everything agreed last, and adds what it finds to
 * what is known; a full one compares everything, and what it could compare it no longer finds is dropped.
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
import { INVARIANTS, verdictsOf, type Comparison, type NotProved, type Verdict } from './verdicts.ts';

export type LastVerdict = Omit<typeof reconciledInvariants.$inferSelect, keyof Comparison> & Comparison;

export interface KeptReconciliation extends ReconciliationReport {
  /** From when on changes were compared; null when everything was. */
  since: Date | null;
  /** Whether an earlier run said from when on: everything was compared all the same where too much had changed. */
  hadStart: boolean;
}

const MAX_FINDINGS = 50;

/**
 * The next incremental run need not begin before these: what is under way or under review is compared each time, and what has
 * nothing to be compared with is kept until a full run. What had no answer is asked for again.
 */
const IS_PASSED_BY: ReadonlySet<NotProved['obstacle']> = new Set(['UNDER_WAY', 'UNDER_REVIEW', 'NO_DATA']);

/**
 * An incremental run is a full one where no earlier run says from where on.
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
    // One run keeps its verdicts at a time, and adds them to those that others have kept meanwhile.
    await tx.select().from(reconciliationSchedule).for('update');
    const now = await readLastVerdicts(tx);
    const run = { snapshot, isFull: since === null, at: await readDatabaseTime(tx) };
    const kept = report.verdicts.map((verdict) => {
      const { invariant } = verdict;
      const known = now.get(invariant);
      // What was known when a full run began it has looked for itself, where it could.
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

/** The invariants whose last verdict is that. */
export async function findBroken(db: Pick<Db, 'select'>): Promise<string[]> {
  const last = await readLastVerdicts(db);
  return [...last.values()]
    .flatMap(({ invariant, verdict }) => (verdict === 'BROKEN' ? [invariant] : []))
    .sort();
}

/**
 * The earliest snapshot of the invariants that are not broken: those wait for a full run, and delay no other. Null when
 * one never agreed.
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

/** The same sentence is another finding with another obstacle. */
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

/** With what stays until a full run: what was found, and what there was nothing to compare with. */
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
