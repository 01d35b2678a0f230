/**
 * Records that landed again with another date, after their chain was rolled back below finality.
 */
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { signingAccounts } from '../../../src/db/tables/index.ts';
import { updateRecordDates } from '../../../src/feed/updateRecordDates.ts';
import {
  NetworkRefusal,
  NetworkUnavailable,
  type LedgerNetwork,
  type RetirementRecord,
} from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { seedRecords } from '../../support/database/records.ts';

const FIRST_DATE = 1_700_000_000;
const NEW_DATE = BigInt(FIRST_DATE + 600);

let database: TestDatabase;
/** The records of each token. A token without records is unknown to the chain. */
let chain: Map<string, RetirementRecord[]>;
let reads: [tokenAddress: string, from: number, limit: number][];

beforeEach(async () => {
  database = await createTestDatabase();
  chain = new Map();
  reads = [];
  await database.handle.db
    .insert(signingAccounts)
    .values({ address: 'GSIGNER', nextSequence: 3n, haltedBecause: 'the chain was rolled back' });
});
afterEach(() => database.drop());

/**
 * Stores records, and puts them on the chain.
 * @returns the tokens
 */
async function open(...records: readonly number[]): Promise<string[]> {
  const opened = await seedRecords(database.handle, {
    projects: records.map(() => ({ countryCode: 'KE', vintageYear: 2024 })),
    records: records.flatMap((count, project) =>
      Array.from({ length: count }, () => ({
        project,
        timestamp: FIRST_DATE,
        tonnes: 1,
        beneficiary: 'Acme',
      })),
    ),
  });
  let number = 0;
  for (const [project, { tokenAddress }] of opened.entries()) {
    const all = Array.from({ length: records[project] ?? 0 }, (_, index) => ({
      index,
      retiredBy: 'custody',
      amount: toBaseUnits(1n),
      timestamp: BigInt(FIRST_DATE),
      beneficiary: 'Acme',
      note: String(number++),
    }));
    chain.set(tokenAddress, all);
  }
  return opened.map(({ tokenAddress }) => tokenAddress);
}

/** The records from `from` on land again later, each with `change`. */
function landAgain(tokenAddress: string, from: number, change: Partial<RetirementRecord> = {}): void {
  const records = chain.get(tokenAddress) ?? [];
  const landed = records.map((record) =>
    record.index < from ? record : { ...record, timestamp: NEW_DATE, ...change },
  );
  chain.set(tokenAddress, landed);
}

async function retirementRecords(...asked: [string, number, number]) {
  reads.push(asked);
  const [tokenAddress, from, limit] = asked;
  const records = chain.get(tokenAddress);
  if (!records) throw new NetworkRefusal({ reason: 'CONTRACT_NOT_FOUND', message: 'no token' });
  const totals = { totalSupply: 0n, totalRetired: 0n, totalRetirements: records.length };
  return { records: records.slice(from, from + limit), totals };
}

const redate = (read: LedgerNetwork['retirementRecords'] = retirementRecords) =>
  updateRecordDates({ db: database.handle.db, network: { retirementRecords: read } });

/** The indexes of records that have the new date and keep the first one. */
async function redated(tokenAddress: string): Promise<number[]> {
  const rows = await database.handle.db.execute<{ index: number }>(sql`
    SELECT index FROM retirement_records
    WHERE token_address = ${tokenAddress} AND timestamp = ${String(NEW_DATE)} AND first_timestamp = ${FIRST_DATE}
    ORDER BY index`);
  return rows.map(({ index }) => index);
}

it('are dated anew, own ones and those of holders, in whatever ledger they landed', async () => {
  const [one = '', other = '', untouched = ''] = await open(9, 1, 2);
  landAgain(one, 7);
  landAgain(other, 0);
  await redate();
  expect(await redated(one)).toEqual([7, 8]);
  expect(await redated(other)).toEqual([0]);
  expect(await redated(untouched)).toEqual([]);
  expect(reads.filter(([token]) => token === untouched)).toEqual([[untouched, 0, 2]]);
});

it('are dated anew page by page, from the newest back to where nothing differs', async () => {
  const [tokenAddress = ''] = await open(900);
  landAgain(tokenAddress, 650);
  await redate();
  expect(await redated(tokenAddress)).toEqual(Array.from({ length: 250 }, (_, i) => 650 + i));
  expect(reads.map(([, from]) => from)).toEqual([700, 500, 300]);
});

it('are all dated anew after a network that stopped answering in between', async () => {
  const [tokenAddress = ''] = await open(450);
  landAgain(tokenAddress, 240);
  const newestAlone: LedgerNetwork['retirementRecords'] = async (...asked) => {
    if (asked[1] < 250) throw new NetworkUnavailable('connection refused');
    return retirementRecords(...asked);
  };
  await expect(redate(newestAlone)).rejects.toThrow(NetworkUnavailable);
  await redate();
  expect(await redated(tokenAddress)).toEqual(Array.from({ length: 210 }, (_, i) => 240 + i));
});

it('are dated anew where an answer ends before its page', async () => {
  const [tokenAddress = ''] = await open(450);
  landAgain(tokenAddress, 100);
  await redate((address, from, limit) => retirementRecords(address, from, Math.min(limit, 30)));
  expect(await redated(tokenAddress)).toEqual(Array.from({ length: 350 }, (_, i) => 100 + i));
});

it.each([
  ['retirer', { retiredBy: 'a holder' }],
  ['amount', { amount: 2n }],
  ['beneficiary', { beneficiary: 'Another one' }],
  ['note', { note: 'another' }],
])('stay as they are where the %s differs', async (_what, change) => {
  const [one = '', other = ''] = await open(3, 3);
  landAgain(one, 1, change);
  landAgain(other, 1);
  await redate();
  expect(await redated(one)).toEqual([]);
  expect(await redated(other)).toEqual([1, 2]);
});

it('of a token that the chain has lost do not keep others from their dates', async () => {
  const [lost = '', other = ''] = await open(2, 2);
  chain.delete(lost);
  landAgain(other, 0);
  await redate();
  expect(await redated(other)).toEqual([0, 1]);
});

it('of a token that the chain has fewer records of are read to their end', async () => {
  const [token = ''] = await open(3);
  landAgain(token, 1);
  chain.set(token, (chain.get(token) ?? []).slice(0, 2));
  await redate();
  expect(await redated(token)).toEqual([1]);
});
