/**
 * Which accounts are halted, and why. Signing is halted while any account is.
 */
import { and, asc, gt, inArray, isNotNull, isNull, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { signingAccounts, signingHalts } from '../../db/tables/index.ts';
import type { FinalLedger } from '../network/port.ts';

const isHalted = isNotNull(signingAccounts.haltedBecause);

/**
 * The version of the halt, for an operator's decision, which ends the halts of all accounts: their reasons,
 * and the row with which signing stopped, so that the same reason after the end of a halt is another one.
 * Null while signing works.
 */
export const HALT_VERSION = sql<string | null>`(
  SELECT left(encode(sha256(convert_to(concat(
    (SELECT ${signingHalts.id} FROM ${signingHalts} WHERE ${signingHalts.endedAt} IS NULL
      ORDER BY ${signingHalts.beganAt}, ${signingHalts.id} LIMIT 1),
    string_agg(concat_ws(' ', a.address, a.halted_because), E'\n' ORDER BY a.address)), 'UTF8')), 'hex'), 32)
  FROM ${signingAccounts} a WHERE a.halted_because IS NOT NULL HAVING count(*) > 0)`;

/** Each halted account, and why. */
export type Halts = { address: string; because: string | null; version: string | null }[];

export function readHalts(db: Pick<Db, 'select'>) {
  return db
    .select({
      address: signingAccounts.address,
      because: signingAccounts.haltedBecause,
      version: HALT_VERSION,
    })
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
 * Keeps the halt of signing from ending before the transaction does, so that the end of the halt sees the
 * submissions that the transaction puts under review. Call it before locking a submission: the end of a halt
 * locks accounts first.
 * @returns false when signing is not halted
 */
export async function lockHalts(tx: Tx): Promise<boolean> {
  return (await readHalts(tx).limit(1).for('share')).length > 0;
}

/** Whether signing has been halted, for its present reason, for less than `minutes`. */
export async function isHaltYounger(db: Pick<Db, '$count'>, minutes: number): Promise<boolean> {
  const { beganAt, endedAt } = signingHalts;
  const isYoung = gt(beganAt, sql`now() - make_interval(mins => ${minutes})`);
  return (await db.$count(signingHalts, and(isNull(endedAt), isYoung))) > 0;
}

/**
 * The open halts of the accounts whose halts end. Another account may be halted at this moment: its halt goes
 * on, and the database lets it keep only one decision and one history, which are those of its own end.
 */
function openOf(accounts: readonly string[]) {
  return and(inArray(signingHalts.address, [...accounts]), isNull(signingHalts.endedAt));
}

/** Stores the decision in the open halts. Call it in the transaction that ends them, before they end. */
export async function keepDecision(tx: Tx, accounts: readonly string[], decisionId: string): Promise<void> {
  await tx.update(signingHalts).set({ decisionId }).where(openOf(accounts));
}

/**
 * Call it in the transaction that ends the halts, before they end.
 * @param replaced the ledger seen before; or null
 */
export async function keepAcceptance(
  tx: Tx,
  accounts: readonly string[],
  replaced: FinalLedger | null,
  accepted: FinalLedger,
): Promise<void> {
  await tx
    .update(signingHalts)
    .set({
      replacedLedger: replaced?.ledger ?? null,
      replacedHash: replaced?.hash ?? null,
      acceptedLedger: accepted.ledger,
      acceptedHash: accepted.hash,
    })
    .where(openOf(accounts));
}
