/**
 * Serial numbers of retired tonnes: which tonnes of a project, in the order in which the books retired them.
 *
 * They are the balance of the project's retired account: a settlement that takes it from 40 to 65 retires the numbers 41 to
 * 65. The balance only grows, and what was posted never changes, so ranges have no overlap and no gap, and need no counter
 * of their own.
 */
import { and, asc, eq, gte, inArray, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { accounts, STEP_OF_CAUSE, transfers } from '../../db/tables/index.ts';

/** A constant in the text, because an index is `WHERE` of it: a kept plan could not match a parameter. */
const isSettlement = sql`${transfers.kind} = 'retirement_settle'`;
/** The same by the words of transfers_once alone: by others, an index of all settlements is read where the statistics are of a time without any. */
const isSettlementOfCause = sql`${STEP_OF_CAUSE} = 'retirement_settle'
  AND ${transfers.kind} <> 'purchase' AND ${transfers.kind} <> 'retirement_return'`;

/** Both ends included; the first tonne of a project is number 1. */
interface SerialRange {
  first: bigint;
  last: bigint;
}

/** Of those retirements that are settled as retired, by their ids. */
export async function readSerialRanges(
  db: Pick<Db, 'select'>,
  retirementIds: readonly string[],
): Promise<Map<string, SerialRange>> {
  const rows = await db
    .select({
      retirementId: transfers.causeId,
      amount: transfers.amount,
      last: transfers.creditBalance,
    })
    .from(transfers)
    .where(and(inArray(transfers.causeId, [...retirementIds]), isSettlementOfCause));
  return new Map(
    rows.map(({ retirementId, amount, last }) => [retirementId, { first: last - amount + 1n, last }]),
  );
}

/** @returns the id of the retirement that has the number, or null. */
export async function findRetirementOfSerial(
  db: Pick<Db, 'select'>,
  projectId: string,
  number: bigint,
): Promise<string | null> {
  // As one value, the index of the account's balances is read from the number on. Joined, all settlements of all projects are.
  const retired = db
    .select({ id: accounts.id })
    .from(accounts)
    .where(and(eq(accounts.projectId, projectId), eq(accounts.kind, 'retired')));
  const [found] = await db
    .select({ retirementId: transfers.causeId })
    .from(transfers)
    .where(
      and(
        sql`${transfers.creditAccountId} = (${retired})`,
        isSettlement,
        gte(transfers.creditBalance, number),
      ),
    )
    .orderBy(asc(transfers.creditBalance))
    .limit(1);
  return found?.retirementId ?? null;
}
