/**
 * Records a sequence that custody uses outside of submission, for example to create channels. It must be recorded
 * before it is used, or the account would seem to have been used elsewhere (haltedSigning.ts).
 */
import { eq, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { signingAccounts } from '../../db/tables/index.ts';
import type { Address } from '../network/port.ts';

/** An account that has not signed for this platform yet has no row: its first use takes the network's sequence. */
export async function noteSequence(db: Pick<Db, 'update'>, address: Address, used: bigint): Promise<void> {
  await db
    .update(signingAccounts)
    .set({ nextSequence: sql`greatest(${signingAccounts.nextSequence}, ${used + 1n}::bigint)` })
    .where(eq(signingAccounts.address, address));
}
