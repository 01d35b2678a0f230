/**
 * Serial numbers of retired tonnes: a number is a tonne's place in the order in which the books retired the
 * tonnes of its project.
 *
 * A serial number is a balance of the project's retired account: a settlement that takes the balance from 40
 * to 65 retires the numbers 41 to 65. The balance only grows, and posted transfers never change, so ranges
 * have no overlap and no gap, and need no counter.
 */
import { and, asc, eq, gte, inArray, sql } from 'drizzle-orm';
import type { Db } from '../../db/connection.ts';
import { accounts, STEP_OF_CAUSE, transfers } from '../../db/tables/index.ts';

/** A constant: a cached plan can't match a parameter to the `WHERE` of an index. */
const isSettlement = sql`${transfers.kind} = 'retirement_settle'`;
/**
 * The same condition, written only with the expressions of the index transfers_once. Otherwise, while the
 * statistics are older than the first settlement, PostgreSQL reads the whole index of settlements.
 */
const isSettlementOfCause = sql`${STEP_OF_CAUSE} = 'retirement_settle'
  AND ${transfers.kind} <> 'purchase' AND ${transfers.kind} <> 'retirement_return'`;

/** Both ends included; the first tonne of a project is number 1. */
interface SerialRange {
  first: bigint;
  last: bigint;
}

/** @returns the ranges of those retirements that are settled as retired, by their ids */
export async function readSerialRanges(
  db: Pick<Db, 'select'>,
  retirementIds: readonly string[],
): Promise<Map<string, SerialRange>> {
  const rows = await db
    .select({
      retirementId: transfers.causeId,
      amountTonnes: transfers.amountTonnes,
      last: transfers.creditBalanceTonnes,
    })
    .from(transfers)
    .where(and(inArray(transfers.causeId, [...retirementIds]), isSettlementOfCause));
  return new Map(
    rows.map(({ retirementId, amountTonnes, last }) => [
      retirementId,
      { first: last - amountTonnes + 1n, last },
    ]),
  );
}

/** @returns the id of the retirement that has the number, or null. */
export async function findRetirementOfSerial(
  db: Pick<Db, 'select'>,
  projectId: string,
  number: bigint,
): Promise<string | null> {
  // With the account as a single value, PostgreSQL reads the index of the account's balances from the number
  // on. A join would read all settlements of all projects.
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
        gte(transfers.creditBalanceTonnes, number),
      ),
    )
    .orderBy(asc(transfers.creditBalanceTonnes))
    .limit(1);
  return found?.retirementId ?? null;
}
