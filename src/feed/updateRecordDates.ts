/**
 * Updates the dates of records. After a chain was rolled back below finality, transactions land again in
 * other ledgers: their records are the same except for the dates. The database allows the update only while
 * signing is halted.
 */
import { sql, type SQL } from 'drizzle-orm';
import pLimit from 'p-limit';
import type { Db } from '../db/connection.ts';
import { retirementRecords } from '../db/tables/index.ts';
import {
  MAX_RECORDS_PER_READ,
  MAX_TOKENS_PER_READ,
  NetworkRefusal,
  type LedgerNetwork,
  type RetirementRecord,
} from '../ledger/network/port.ts';
import { readTokens, type Counted } from './compareTokens.ts';

interface Dependencies {
  db: Db;
  network: Pick<LedgerNetwork, 'retirementRecords'>;
}

const MAX_CONCURRENT_TOKENS = 8;

/**
 * Compares all tokens, not only those whose attempts landed elsewhere: holders' burns are rolled back as
 * well, and a burn may land again in a ledger of the same number. @throws NetworkUnavailable
 */
export async function updateRecordDates(deps: Dependencies): Promise<void> {
  const limit = pLimit(MAX_CONCURRENT_TOKENS);
  let after: string | null = null;
  for (;;) {
    const tokens = await readTokens(deps.db, after, MAX_TOKENS_PER_READ);
    if (tokens.length === 0) return;
    await Promise.all(tokens.map((token) => limit(() => updateDatesOfToken(deps, token))));
    after = tokens.at(-1)?.tokenAddress ?? null;
  }
}

async function updateDatesOfToken(deps: Dependencies, token: Counted): Promise<void> {
  const dates = await readOtherDates(deps, token).catch((error: unknown) => {
    // A reconciliation names a token that no longer exists.
    if (error instanceof NetworkRefusal) return [];
    throw error;
  });
  if (dates.length === 0) return;
  // One statement updates all: after a part, the newest page may show no difference, and the rest would keep
  // old dates.
  await deps.db.execute(sql`
    UPDATE ${retirementRecords} r SET timestamp = v.timestamp
    FROM json_to_recordset(${JSON.stringify(dates)}::text::json) v (index integer, timestamp bigint)
    WHERE r.token_address = ${token.tokenAddress} AND r.index = v.index AND r.timestamp <> v.timestamp`);
}

/** A record's place, and its date on the network, in digits. */
interface RecordDate {
  index: number;
  timestamp: string;
}

/** Reads pages from the newest back to one without another date: a rollback undoes the newest records. */
async function readOtherDates(deps: Dependencies, token: Counted): Promise<readonly RecordDate[]> {
  const all: RecordDate[] = [];
  for (let end = token.stored; end > 0; end -= MAX_RECORDS_PER_READ) {
    const dates = await readDatesOfPage(deps, token, Math.max(0, end - MAX_RECORDS_PER_READ), end);
    if (dates.length === 0) break;
    all.push(...dates);
  }
  return all;
}

/** Reads on where an answer ends before the page does. */
async function readDatesOfPage(
  { db, network }: Dependencies,
  token: Counted,
  from: number,
  end: number,
): Promise<readonly RecordDate[]> {
  const dates: RecordDate[] = [];
  for (let next = from; next < end;) {
    const { records } = await network.retirementRecords(token.tokenAddress, next, end - next);
    if (records.length === 0) break;
    const others = await db.execute<{ index: number; timestamp: string }>(sql`
      SELECT r.index, v.timestamp::text FROM ${retirementRecords} r, ${sameButForDate(token, records)}`);
    dates.push(...others);
    next += records.length;
  }
  return dates;
}

/** A record that differs in anything else stays as it is: a reconciliation names the difference. */
function sameButForDate({ tokenAddress }: Counted, records: readonly RetirementRecord[]): SQL {
  const read = records.map(({ index, retiredBy, amount, timestamp, beneficiary, note }) => ({
    index,
    retired_by: retiredBy,
    amount_base_units: String(amount),
    timestamp: String(timestamp),
    beneficiary,
    note,
  }));
  return sql`json_to_recordset(${JSON.stringify(read)}::text::json)
      v (index integer, retired_by text, amount_base_units numeric, timestamp bigint, beneficiary text, note text)
    WHERE r.token_address = ${tokenAddress} AND r.index = v.index AND r.retired_by = v.retired_by
      AND r.amount_base_units = v.amount_base_units AND r.beneficiary = v.beneficiary AND r.note = v.note
      AND r.timestamp <> v.timestamp`;
}
