/**
 * Retirement records of custody's own that no retirement of this platform claims: burns that it knows nothing of.
 */
import { and, asc, eq, isNull, type SQL } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { retirementRecords, retirements } from '../db/schema/index.ts';

/**
 * Of what is stored of the token; fill it first.
 * @returns indexes, lowest first
 */
export async function findUnclaimedRecords(
  db: Pick<Db, 'select'>,
  of: { projectId: string; custodyAddress: string; condition?: SQL | undefined; limit: number },
): Promise<number[]> {
  const rows = await db
    .select({ index: retirementRecords.index })
    .from(retirementRecords)
    .leftJoin(
      retirements,
      and(
        eq(retirements.projectId, retirementRecords.projectId),
        eq(retirements.recordIndex, retirementRecords.index),
      ),
    )
    .where(
      and(
        eq(retirementRecords.projectId, of.projectId),
        eq(retirementRecords.retiredBy, of.custodyAddress),
        isNull(retirements.id),
        of.condition,
      ),
    )
    .orderBy(asc(retirementRecords.index))
    .limit(of.limit);
  return rows.map(({ index }) => index);
}
