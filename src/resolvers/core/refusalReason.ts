import { and, desc, eq } from 'drizzle-orm';
import { submissions } from '../../db/tables/index.ts';
import type { Needs } from './dependencies.ts';

/** Why the network refused the latest refused call of a target; null when no call of it was refused. */
export async function readRefusalReason({ db }: Needs<'db'>, targetId: string): Promise<string | null> {
  const [refused] = await db
    .select({ reason: submissions.refusalReason })
    .from(submissions)
    .where(and(eq(submissions.targetId, targetId), eq(submissions.state, 'REFUSED')))
    .orderBy(desc(submissions.createdAt), desc(submissions.id))
    .limit(1);
  return refused?.reason ?? null;
}
