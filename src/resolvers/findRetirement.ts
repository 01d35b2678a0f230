/**
 * Finding retirements, with how far their burn got on the network.
 */
import { asc, eq } from 'drizzle-orm';
import { attempts, retirements, submissions } from '../db/schema/index.ts';
import type { Dependencies } from './dependencies.ts';

export type Retirement = typeof retirements.$inferSelect;

export async function findRetirement(deps: Pick<Dependencies, 'db'>, id: string): Promise<Retirement | null> {
  const [retirement] = await deps.db.select().from(retirements).where(eq(retirements.id, id));
  return retirement ?? null;
}

/** One signed transaction of a subject's submission, as clients may see it. */
export interface SubjectTransaction {
  txHash: string;
  kind: string;
  state: (typeof attempts.state.enumValues)[number];
  signedAt: Date;
  decidedAt: Date | null;
}

/** Every transaction that was ever signed for a subject, oldest first; bounded by the attempts' own limit. */
export async function readTransactions(
  deps: Pick<Dependencies, 'db'>,
  subjectId: string,
): Promise<SubjectTransaction[]> {
  return deps.db
    .select({
      txHash: attempts.hash,
      kind: submissions.kind,
      state: attempts.state,
      signedAt: attempts.createdAt,
      decidedAt: attempts.decidedAt,
    })
    .from(attempts)
    .innerJoin(submissions, eq(submissions.id, attempts.submissionId))
    .where(eq(submissions.subjectId, subjectId))
    .orderBy(asc(attempts.createdAt), asc(attempts.number));
}
