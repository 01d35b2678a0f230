/**
 * Bounds the retirements that a caller prepares and no wallet signs: each is kept for good, as a wallet may send it at any time.
 */
import { and, desc, eq, gt, isNull, sql } from 'drizzle-orm';
import { holderActs } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';

/** More than people sign in a day; at some 2 kB each, one caller fills 2 MB a day. */
const MAX_UNSIGNED_A_DAY = 1_000;

/** @throws DomainError RATE_LIMITED with `retryAfterSeconds` */
export async function limitUnsigned({ db }: Needs<'db'>, callerSubject: string): Promise<void> {
  const [oldest] = await db
    .select({
      leftSeconds: sql<number>`ceil(extract(epoch FROM ${holderActs.createdAt} + interval '1 day' - now()))::int`,
    })
    .from(holderActs)
    .where(
      and(
        eq(holderActs.preparedBy, callerSubject),
        // A constant in the text, as its index has it: a kept plan could not match a parameter.
        sql`${holderActs.kind} = 'retire'`,
        isNull(holderActs.submissionId),
        gt(holderActs.createdAt, sql`now() - interval '1 day'`),
      ),
    )
    .orderBy(desc(holderActs.createdAt))
    .offset(MAX_UNSIGNED_A_DAY - 1)
    .limit(1);
  if (!oldest) return;
  throw new DomainError(
    'RATE_LIMITED',
    `${MAX_UNSIGNED_A_DAY} retirements that you prepared in a day were not signed: have them signed, or try again in ` +
      `${oldest.leftSeconds} s.`,
    { limit: MAX_UNSIGNED_A_DAY, retryAfterSeconds: oldest.leftSeconds },
  );
}
