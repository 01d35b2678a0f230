/**
 * After a chain was rolled back below finality, what had landed lands again as the same bytes, in later ledgers: its
 * records are the same but for their dates. Those alone are taken anew from the token; the database allows it only
 * while signing is halted.
 */
import { and, desc, eq, ne, sql } from 'drizzle-orm';
import pLimit from 'p-limit';
import { attempts, retirementRecords, submissions } from '../db/tables/index.ts';
import { MAX_RECORDS_PER_READ } from '../ledger/network/port.ts';
import type { FeedDependencies } from './fillToken.ts';

type Dependencies = Pick<FeedDependencies, 'db' | 'network'>;

/** A rollback undoes the newest; of more than these, the rest stays a difference that an operator sees. */
const MAX_OUTCOMES = 200;
const MAX_CONCURRENT_QUESTIONS = 8;

/** @throws NetworkUnavailable */
export async function redateRecords(deps: Dependencies): Promise<void> {
  for (const [tokenAddress, from] of await findLandedAgain(deps)) await redate(deps, tokenAddress, from);
}

/** Of each token whose retirements landed again: the lowest index of theirs. */
async function findLandedAgain({ db, network }: Dependencies): Promise<Map<string, number>> {
  const landed = await db
    .select({
      attempt: attempts,
      tokenAddress: sql<string>`${submissions.call} ->> 'tokenAddress'`,
    })
    .from(attempts)
    .innerJoin(submissions, eq(submissions.id, attempts.submissionId))
    .where(and(eq(attempts.state, 'LANDED'), eq(submissions.kind, 'retire')))
    .orderBy(desc(attempts.createdAt))
    .limit(MAX_OUTCOMES);
  const limit = pLimit(MAX_CONCURRENT_QUESTIONS);
  const lowest = new Map<string, number>();
  await Promise.all(
    landed.map(({ attempt, tokenAddress }) =>
      limit(async () => {
        const outcome = await network.outcome(attempt);
        if (outcome.status !== 'succeeded' || outcome.result.kind !== 'retired') return;
        if (outcome.ledger === attempt.ledger) return;
        const { retirementIndex } = outcome.result;
        lowest.set(tokenAddress, Math.min(retirementIndex, lowest.get(tokenAddress) ?? retirementIndex));
      }),
    ),
  );
  return lowest;
}

/** A record that differs in anything else stays as it is: a reconciliation names the difference. */
async function redate({ db, network }: Dependencies, tokenAddress: string, first: number): Promise<void> {
  for (let from = first; ;) {
    const { records, totals } = await network.retirementRecords(tokenAddress, from, MAX_RECORDS_PER_READ);
    for (const { index, retiredBy, amount, beneficiary, note, timestamp } of records) {
      const isSame = and(
        eq(retirementRecords.tokenAddress, tokenAddress),
        eq(retirementRecords.index, index),
        eq(retirementRecords.retiredBy, retiredBy),
        eq(retirementRecords.amount, amount),
        eq(retirementRecords.beneficiary, beneficiary),
        eq(retirementRecords.note, note),
      );
      await db
        .update(retirementRecords)
        .set({ timestamp })
        .where(and(isSame, ne(retirementRecords.timestamp, timestamp)));
    }
    from += records.length;
    // Ends: each round reads at least one of finitely many records, or finds none.
    if (records.length === 0 || from >= totals.totalRetirements) return;
  }
}
