/**
 * Inserts an expiry run that was not swept yet.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Db } from '../../../src/db/connection.ts';
import { expiryRuns } from '../../../src/db/tables/index.ts';

/** @param dueIn as PostgreSQL writes intervals; the workers don't take the run before */
export async function addRun(db: Pick<Db, 'insert'>, dueIn = '0 s'): Promise<string> {
  const id = randomUUID();
  const times = { startedAt: sql`now()`, dueAt: sql`now() + ${dueIn}::interval` };
  await db.insert(expiryRuns).values({ id, trigger: 'MANUAL', requestedBy: 'a test', ...times });
  return id;
}
