/**
 * Finds retirement records made by custody that no retirement of this platform claims: burns that the
 * platform does not know. Reads only stored records: the caller reads those that the feed lacks.
 */
import { and, asc, eq, isNull, sql, type Placeholder } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import type { Db } from '../db/connection.ts';
import { hotSelect } from '../db/hotQueries.ts';
import { retirementRecords, retirements } from '../db/tables/index.ts';
import type { FeedToken } from './appendRecords.ts';

/** The fields that two equal burns have in common. */
export interface Burn {
  beneficiary: string;
  note: string;
  /** In base units. */
  amount: bigint;
}

const isClaimedBy = and(
  eq(retirements.projectId, retirementRecords.projectId),
  eq(retirements.recordIndex, retirementRecords.index),
);

const { beneficiary, note, amountBaseUnits: amount } = retirementRecords;
const selectAlike = hotSelect(
  new QueryBuilder()
    .selectDistinct({ beneficiary, note, amount })
    .from(retirementRecords)
    .leftJoin(retirements, isClaimedBy)
    .where(
      and(
        isUnclaimed(sql.placeholder('tokenAddress'), sql.placeholder('custodyAddress')),
        sql`(${beneficiary}, ${note}, ${amount}) IN (SELECT v ->> 0, v ->> 1, (v ->> 2)::numeric
          FROM json_array_elements(${sql.placeholder('burns')}::text::json) v)`,
      ),
    ),
);

/** Most records are marked as claimed and are not read; otherwise the cost would grow with the history. */
function isUnclaimed(tokenAddress: string | Placeholder, custodyAddress: string | Placeholder) {
  return and(
    eq(retirementRecords.tokenAddress, tokenAddress),
    eq(retirementRecords.retiredBy, custodyAddress),
    sql`NOT ${retirementRecords.isClaimed}`,
    isNull(retirements.id),
  );
}

/**
 * Finds those of the token's records, stored or not, that retirements of this platform claim. Each search has
 * an order that only the index of records has: otherwise, while the table is small, another index that reads
 * all of a project's retirements looks as cheap, and connections keep such a plan.
 */
export async function findClaimed(
  db: Pick<Db, 'execute'>,
  { projectId }: FeedToken,
  indexes: readonly number[],
): Promise<ReadonlySet<number>> {
  const rows = await db.execute<{ index: number }>(sql`
    SELECT claimed.record_index AS index FROM json_array_elements_text(${JSON.stringify(indexes)}::text::json)
    CROSS JOIN LATERAL (SELECT record_index FROM ${retirements}
      WHERE project_id = ${projectId} AND record_index BETWEEN value::integer AND value::integer
      ORDER BY record_index LIMIT 1) AS claimed`);
  return new Set(rows.map(({ index }) => index));
}

/** @returns lowest index first */
export async function findUnclaimedRecords(
  db: Pick<Db, 'select'>,
  of: FeedToken & { custodyAddress: string; burn: Burn; limit: number },
): Promise<{ index: number; timestamp: bigint; txHash: string | null }[]> {
  return db
    .select({
      index: retirementRecords.index,
      timestamp: retirementRecords.timestamp,
      txHash: retirementRecords.txHash,
    })
    .from(retirementRecords)
    .leftJoin(retirements, isClaimedBy)
    .where(
      and(
        isUnclaimed(of.tokenAddress, of.custodyAddress),
        eq(retirementRecords.beneficiary, of.burn.beneficiary),
        eq(retirementRecords.note, of.burn.note),
        eq(retirementRecords.amountBaseUnits, of.burn.amount),
      ),
    )
    .orderBy(asc(retirementRecords.index))
    .limit(of.limit);
}

/** @returns the burns that equal any unclaimed record */
export async function findAlikeBurns(
  db: Pick<Db, '_'>,
  { tokenAddress, custodyAddress, burns }: FeedToken & { custodyAddress: string; burns: readonly Burn[] },
): Promise<Burn[]> {
  const alike = burns.map((burn) => [burn.beneficiary, burn.note, String(burn.amount)]);
  return selectAlike(db, { tokenAddress, custodyAddress, burns: JSON.stringify(alike) });
}
