/**
 * Bounds the requests for approval of one caller that await a decision: people look at each, and find those of others among them.
 */
import { and, desc, eq, sql } from 'drizzle-orm';
import type { Tx } from '../../db/connection.ts';
import { approvalRequests } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { isOpen } from './approvalRequests.ts';

/** More than people decide in the days that a request lasts. */
const MAX_AWAITING = 1_000;

/** @throws DomainError RATE_LIMITED with `retryAfterSeconds` */
export async function limitAwaiting(tx: Tx, requestedBy: string): Promise<void> {
  const { expiresAt } = approvalRequests;
  const [oldest] = await tx
    .select({ leftSeconds: sql<number>`ceil(extract(epoch FROM ${expiresAt} - now()))::int` })
    .from(approvalRequests)
    .where(and(eq(approvalRequests.requestedBy, requestedBy), isOpen))
    .orderBy(desc(expiresAt))
    .offset(MAX_AWAITING - 1)
    .limit(1);
  if (!oldest) return;
  throw new DomainError(
    'RATE_LIMITED',
    `${MAX_AWAITING} requests for approval that you made await a decision: have some decided, withdraw some, or try again in ` +
      `${oldest.leftSeconds} s.`,
    { limit: MAX_AWAITING, retryAfterSeconds: oldest.leftSeconds },
  );
}
