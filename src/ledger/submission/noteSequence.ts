/**
 * Records a sequence that custody uses outside of submission, for example to create channels. It must be
 * recorded before it is used, or the account would seem to have been used elsewhere (haltedSigning.ts).
 */
import { and, eq, gte, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { signingAccounts } from '../../db/tables/index.ts';
import type { Address } from '../network/port.ts';

/** The account has sent transactions unknown to this database. A later recorded sequence would hide them. */
class SequencesUnknown extends Error {
  override readonly name = 'SequencesUnknown';
}

/**
 * An account that has not signed for this platform has no row: its first use takes the network's sequence.
 * @param isCompared whether servers compare its sequences, which alone reveals what else its key has sent
 * @throws SequencesUnknown; nothing was recorded
 */
export async function noteSequence(
  db: Db,
  { address, isCompared }: { address: Address; isCompared: boolean },
  used: bigint,
): Promise<void> {
  const { nextSequence } = signingAccounts;
  const isAccount = eq(signingAccounts.address, address);
  const noted = await db
    .update(signingAccounts)
    .set({ nextSequence: sql`greatest(${nextSequence}, ${used + 1n}::bigint)` })
    .where(and(isAccount, gte(nextSequence, used)))
    .returning();
  // The account has sent unknown transactions. If it is not compared, its row stays as it is: when it is
  // compared again, signing halts for a review.
  if (noted.length > 0 || !isCompared) return;
  const [account] = await db.select().from(signingAccounts).where(isAccount);
  if (account === undefined) return;
  throw new SequencesUnknown(
    `The network expects sequence ${used} of ${address}, and this database has given away none from ${account.nextSequence} on: ` +
      'the database is an old copy, or the key was used elsewhere. Start the server, which compares books and network, and try ' +
      'again when signing is not halted any more (docs/operations.md).',
  );
}
