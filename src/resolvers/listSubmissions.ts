/**
 * Lists submissions for operators: what is under way, and what waits for their decision.
 */
import { and, eq } from 'drizzle-orm';
import { keyset, type KeysetCursor, type KeysetPage } from '../db/keyset.ts';
import { submissions } from '../db/schema/index.ts';
import type { Submission } from '../ledger/submission/settle.ts';
import type { Dependencies } from './dependencies.ts';

const OLDEST_FIRST = {
  column: submissions.createdAt,
  id: submissions.id,
  type: 'timestamptz',
  direction: 'asc',
} as const;

export async function listSubmissions(
  deps: Pick<Dependencies, 'db'>,
  filter: { state?: Submission['state'] | null | undefined },
  page: KeysetPage<KeysetCursor>,
): Promise<Submission[]> {
  const { where, orderBy } = keyset(OLDEST_FIRST, page);
  return deps.db
    .select()
    .from(submissions)
    .where(and(where, filter.state == null ? undefined : eq(submissions.state, filter.state)))
    .orderBy(...orderBy)
    .limit(page.limit);
}

export async function findSubmission(deps: Pick<Dependencies, 'db'>, id: string): Promise<Submission | null> {
  const [submission] = await deps.db.select().from(submissions).where(eq(submissions.id, id));
  return submission ?? null;
}

export function submissionCursor(submission: Submission): KeysetCursor {
  return { value: submission.createdAt.toISOString(), id: submission.id };
}
