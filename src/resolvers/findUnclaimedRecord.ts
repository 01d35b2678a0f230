/**
 * Looks on the network for a burn of custody's that no retirement here claims, though it says the same.
 */
import { and, eq, sql } from 'drizzle-orm';
import { retirementRecords } from '../db/schema/index.ts';
import { fillToken, type FeedDependencies } from '../feed/fillToken.ts';
import { findUnclaimedRecords } from '../feed/unclaimedRecords.ts';
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
  const [index] = await findUnclaimedRecords(deps.db, {
    projectId: project.id,
    custodyAddress: deps.network.custodyAddress,
    condition: and(
      eq(retirementRecords.beneficiary, call.beneficiary),
      eq(retirementRecords.note, call.note),
      sql`${retirementRecords.amount} = ${call.amount}::numeric`,
    ),
    limit: 1,
  });
  return index ?? null;
}
