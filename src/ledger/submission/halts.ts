/**
 * Which accounts are halted, and why. Signing is halted while any account is.
 */
import { asc, isNotNull } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { signingAccounts } from '../../db/tables/index.ts';

const isHalted = isNotNull(signingAccounts.haltedBecause);

/** Each halted account, and why. */
export type Halts = { address: string; because: string | null }[];

export function readHalts(db: Pick<Db, 'select'>) {
  return db
    .select({ address: signingAccounts.address, because: signingAccounts.haltedBecause })
    .from(signingAccounts)
    .where(isHalted)
    .orderBy(asc(signingAccounts.address));
}

/** Why signing is halted; null when it is not. */
export async function readHalt(db: Pick<Db, 'select'>): Promise<string | null> {
  const [first] = await readHalts(db).limit(1);
  return first?.because ?? null;
}

/**
 * Keeps the halt of signing from ending before the transaction does: what the transaction puts under review is then seen
 * by whatever ends the halt. Call it before locking a submission: the end of a halt locks accounts before submissions.
 * @returns false when signing is not halted
 */
export async function holdHalt(tx: Tx): Promise<boolean> {
  return (await readHalts(tx).limit(1).for('share')).length > 0;
}
