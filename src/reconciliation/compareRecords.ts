/**
 * Compares a token's retirement records, read again from the network page by page, with the stored records
 * and with the retirements that claim them. Only single pages are in memory, whatever the length of the
 * history.
 */
import { sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import {
  MAX_RECORDS_PER_READ,
  NetworkUnavailable,
  type CarbonTotals,
  type RetirementRecord,
} from '../ledger/network/port.ts';
import { compareUnclaimed } from './compareUnclaimed.ts';
import { createQuestions } from './questions.ts';
import type { ReconcileDependencies, ReconciledProject } from './reconcileProject.ts';
import { add, broken, MAX_FINDINGS, nothingCompared, unproved } from './verdicts.ts';
import type { Comparison, Finding, Invariant } from './verdicts.ts';

export const INVARIANTS_OF_RECORDS = ['I3', 'I4', 'I10'] as const satisfies Invariant[];

/** Maximum pages read at a time. */
const MAX_CONCURRENT_PAGES = 4;
/**
 * Maximum examined records of custody without a retirement: under load as many burns have landed and are not
 * settled. One statement looks all of them up.
 */
const MAX_EXAMINED = 2_000;

/** The index after the last record that the database knows, from the feed or a retirement. */
export async function readClaimedUpTo(
  db: Db,
  { id, tokenAddress }: Pick<ReconciledProject, 'id' | 'tokenAddress'>,
): Promise<number> {
  const [row] = await db.execute<{ end: number }>(sql`
    SELECT greatest(
      (SELECT max(index) FROM retirement_records WHERE token_address = ${tokenAddress}),
      (SELECT max(record_index) FROM retirements WHERE project_id = ${id}),
      (SELECT max(record_index) FROM holder_acts WHERE project_id = ${id}), -1) + 1 AS end`);
  return row?.end ?? 0;
}

/**
 * @param read.totals the token's totals, read after `claimedUpTo`. All its records are stored, or those
 *   before `unstoredFrom`
 */
export async function compareRecords(
  deps: ReconcileDependencies,
  project: ReconciledProject,
  {
    totals,
    claimedUpTo,
    unstoredFrom = totals.totalRetirements,
  }: { totals: CarbonTotals; claimedUpTo: number; unstoredFrom?: number },
): Promise<Comparison> {
  const compared = nothingCompared();
  if (claimedUpTo > totals.totalRetirements) {
    const message =
      `${project.assetId}: the token has ${totals.totalRetirements} retirements, ` +
      `the database knows of records up to index ${claimedUpTo - 1}`;
    add(compared, broken('I10', message));
  }
  const unclaimed: RetirementRecord[] = [];
  const { maxRecords = totals.totalRetirements, fromRecord = 0 } = deps;
  const newest = Math.max(0, totals.totalRetirements - maxRecords);
  const firstIndex = Math.max(newest, Math.min(fromRecord, totals.totalRetirements));
  let retired = 0n;
  let unexamined = 0;
  const questions = createQuestions({
    invariants: INVARIANTS_OF_RECORDS,
    noun: `pages of records of ${project.assetId}`,
    concurrency: MAX_CONCURRENT_PAGES,
  });
  const pages = await questions.askAll(
    pageStarts(firstIndex, totals.totalRetirements),
    () => project.assetId,
    async (from) => {
      for await (const { record, known } of readPage(deps, project, from, totals.totalRetirements)) {
        retired += record.amount;
        const mustBeStored = record.index < unstoredFrom;
        const found = compareRecord(project, record, known, { mustBeStored });
        if (compared.findings.length < MAX_FINDINGS) compared.findings.push(...found);
        const isOurs = record.retiredBy === deps.network.custodyAddress;
        if (!isOurs || known?.isClaimed) continue;
        if (unclaimed.length < MAX_EXAMINED) unclaimed.push(record);
        else unexamined += 1;
      }
      return nothingCompared();
    },
  );
  const isWhole = firstIndex === 0 && pages.every((page) => page?.notProved.length === 0);
  if (isWhole && retired !== totals.totalRetired) {
    const message = `${project.assetId}: ${totals.totalRetired} base units were retired, the records sum to ${retired}`;
    add(compared, broken('I3', message));
  }
  const rest = await compareUnclaimed(deps, project, unclaimed);
  add(compared, questions.sum());
  add(compared, {
    findings: rest.findings.slice(0, MAX_FINDINGS),
    notProved: rest.notProved.slice(0, MAX_FINDINGS),
  });
  if (newest > 0) {
    const message = `${project.assetId}: the records before index ${newest} were not read again`;
    add(compared, unproved(INVARIANTS_OF_RECORDS, 'LEFT_OUT', message));
  }
  // The examined ones may all wait for their retirements, and hide records without one.
  if (unexamined > 0) {
    const message = `${project.assetId}: ${unexamined} more of custody's retirement records have no retirement, and were not examined`;
    add(compared, unproved(['I4'], 'LEFT_OUT', message));
  }
  return compared;
}

function pageStarts(first: number, total: number): number[] {
  const pages = Math.ceil((total - first) / MAX_RECORDS_PER_READ);
  return Array.from({ length: pages }, (_, i) => first + i * MAX_RECORDS_PER_READ);
}

/**
 * The records of one page, with what the database knows of each; read in parts where their texts are very long.
 * @throws NetworkUnavailable, also when an answer has none of the records, or others
 */
async function* readPage(
  { db, network }: ReconcileDependencies,
  project: ReconciledProject,
  first: number,
  total: number,
): AsyncGenerator<{ record: RetirementRecord; known: KnownRecord | undefined }> {
  const end = Math.min(first + MAX_RECORDS_PER_READ, total);
  for (let from = first; from < end;) {
    const { records } = await network.retirementRecords(project.tokenAddress, from, end - from);
    if (records.length === 0 || records.some(({ index }, i) => index !== from + i)) {
      throw new NetworkUnavailable(
        `Records ${from} to ${end - 1} of ${project.tokenAddress} were asked for, but the answer has ` +
          `${records.length} from index ${records[0]?.index ?? 'none'} on.`,
      );
    }
    const known = await readKnown(db, project, from, records.length);
    for (const record of records) yield { record, known: known.get(record.index) };
    from += records.length;
  }
}

/** A record's facts in comparable form: integers as digits. */
interface Facts {
  retiredBy: string;
  amount: string;
  timestamp: string;
  beneficiary: string;
  note: string;
}

interface KnownRecord {
  stored: Facts | null;
  isClaimed: boolean;
  /** The platform's retirement, or the holder's act, that claims the record. */
  claims: (Omit<Facts, 'timestamp'> & { id: string })[];
}

/**
 * Reads the database's facts about one page. The claims are materialized: with a plan made for a young table,
 * all retirements of the project would be read for each record.
 */
async function readKnown(
  db: Db,
  { id, tokenAddress }: ReconciledProject,
  from: number,
  length: number,
): Promise<Map<number, KnownRecord>> {
  const rows = await db.execute<{ index: number } & Omit<KnownRecord, 'isClaimed'>>(sql`
    WITH claims AS MATERIALIZED (
      SELECT record_index, jsonb_build_object('id', id, 'amount', (amount_tonnes * 10::numeric ^ 18)::numeric(78, 0)::text,
        'retiredBy', (SELECT custody_address FROM installation WHERE singleton), 'beneficiary', beneficiary, 'note', note) AS claim
      FROM retirements WHERE project_id = ${id} AND record_index >= ${from} AND record_index < ${from + length}
      UNION ALL
      SELECT record_index, jsonb_build_object('id', id, 'amount', call -> 'amount' ->> '$integer',
        'retiredBy', holder_address, 'beneficiary', call ->> 'beneficiary', 'note', call ->> 'note')
      FROM holder_acts WHERE project_id = ${id} AND record_index >= ${from} AND record_index < ${from + length})
    SELECT i.index,
      (SELECT jsonb_build_object('retiredBy', r.retired_by, 'amount', r.amount_base_units::text,
          'timestamp', r.timestamp::text, 'beneficiary', r.beneficiary, 'note', r.note)
        FROM retirement_records r WHERE r.token_address = ${tokenAddress} AND r.index = i.index) AS stored,
      (SELECT coalesce(jsonb_agg(c.claim), '[]') FROM claims c WHERE c.record_index = i.index) AS claims
    FROM generate_series(${from}::int, ${from + length - 1}::int) AS i (index)`);
  return new Map(
    rows.map(({ index, ...known }) => [index, { ...known, isClaimed: known.claims.length > 0 }]),
  );
}

function compareRecord(
  { assetId }: ReconciledProject,
  record: RetirementRecord,
  known: KnownRecord | undefined,
  { mustBeStored }: { mustBeStored: boolean },
): Finding[] {
  const { retiredBy, beneficiary, note } = record;
  const facts: Facts = {
    retiredBy,
    amount: record.amount.toString(),
    timestamp: record.timestamp.toString(),
    beneficiary,
    note,
  };
  const at = `${assetId}: record ${record.index} of the token`;
  const stored = known?.stored ?? null;
  if (stored === null && mustBeStored) return [{ invariant: 'I10', message: `${at} is not stored` }];
  const different = stored === null ? [] : differences(facts, stored);
  const findings: Finding[] = [];
  if (different.length > 0) {
    findings.push({ invariant: 'I10', message: `${at} is stored with another ${different.join(', ')}` });
  }
  const claims = known?.claims ?? [];
  for (const { id, ...claimed } of claims) {
    const wrong = differences(facts, claimed);
    if (wrong.length > 0) {
      findings.push({
        invariant: 'I4',
        message: `${at} is claimed by retirement ${id} with another ${wrong.join(', ')}`,
      });
    }
  }
  if (claims.length > 1) {
    const ids = claims.map(({ id }) => id).join(' and ');
    findings.push({ invariant: 'I4', message: `${at} is claimed by ${ids}` });
  }
  return findings;
}

/** The names of the fields in which `actual` differs from `expected`. */
function differences(expected: Facts, actual: Partial<Facts>): string[] {
  return Object.entries(actual)
    .filter(([name, value]) => expected[name as keyof Facts] !== value)
    .map(([name]) => name);
}
