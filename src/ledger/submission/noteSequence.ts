/**
 * Custody signs something outside of submission, such as making its channels. The database has to know of the
 * sequence before it is used, or the network would seem to have been used by others (haltedSigning.ts).
 */
import { eq, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { signingAccounts } from '../../db/schema/index.ts';
import type { Address } from '../network/port.ts';

/** Of an account that has not signed for this platform yet, the network's word is taken when it does. */
export async function noteSequence(db: Pick<Db, 'update'>, address: Address, used: bigint): Promise<void> {
  await db
    .update(signingAccounts)
    .set({ nextSequence: sql`greatest(${signingAccounts.nextSequence}, ${used + 1n}::bigint)` })
    .where(eq(signingAccounts.address, address));
}
