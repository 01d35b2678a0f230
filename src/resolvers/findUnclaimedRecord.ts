/**
 * Looks on the network for a burn of custody's that no retirement here claims, though it says the same.
 */
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import { retirementRecords, retirements } from '../db/schema/index.ts';
import { fillToken, type FeedDependencies } from '../feed/fillToken.ts';
import type { NetworkCall } from '../ledger/network/port.ts';
import { findProjectByToken } from './findProject.ts';

/** @returns the record's index, or null. @throws NetworkUnavailable */
export async function findUnclaimedRecord(
  deps: FeedDependencies,
  call: Extract<NetworkCall, { kind: 'retire' }>,
): Promise<number | null> {
  const project = await findProjectByToken(deps, call.tokenAddress);
  if (!project) return null;
  await fillToken(deps, { projectId: project.id, tokenAddress: project.tokenAddress });
  const [record] = await deps.db
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
        eq(retirementRecords.projectId, project.id),
        eq(retirementRecords.retiredBy, deps.network.custodyAddress),
        eq(retirementRecords.beneficiary, call.beneficiary),
        eq(retirementRecords.note, call.note),
        sql`${retirementRecords.amount} = ${call.amount}::numeric`,
        isNull(retirements.id),
      ),
    )
    .orderBy(asc(retirementRecords.index))
    .limit(1);
  return record?.index ?? null;
}
