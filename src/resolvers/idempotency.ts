/**
 * Idempotency keys: the same key and input get the first answer again; the same key with another input is
 * an error. The key is reserved by a unique insert in the transaction of the effect, so a second request
 * waits for the first one's outcome in the database, on whichever instance. A request that failed leaves
 * nothing behind, its key included: sending it again tries again.
 */
import { createHash } from 'node:crypto';
import { and, eq } from 'drizzle-orm';
import type { Db, Tx } from '../db/connection.ts';
import { idempotencyKeys } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';

export interface IdempotentRequest {
  /** Keys belong to their caller: two callers' equal keys don't meet. */
  callerId: string;
  operation: string;
  key: string;
  input: Readonly<Record<string, string | number | bigint | null>>;
}

/**
 * @returns null when the key is new and now stands for `subjectId`, else the subject of its first use.
 * @throws DomainError IDEMPOTENCY_CONFLICT
 */
export async function reserveKey(
  tx: Tx,
  request: IdempotentRequest,
  subjectId: string,
  at: Date,
): Promise<string | null> {
  const { callerId, operation, key } = request;
  const inserted = await tx
    .insert(idempotencyKeys)
    .values({ callerId, operation, key, inputHash: hashInput(request.input), subjectId, createdAt: at })
    .onConflictDoNothing()
    .returning({ key: idempotencyKeys.key });
  if (inserted.length > 0) return null;
  const first = await findFirstUse(tx, request);
  if (first === null) throw new Error(`idempotency key of ${operation} neither inserted nor found`);
  return first;
}

/**
 * For requests that are checked against a world which their own first use has changed.
 * @returns the subject of the key's first use, or null.
 * @throws DomainError IDEMPOTENCY_CONFLICT
 */
export async function findFirstUse(
  db: Pick<Db, 'select'>,
  request: IdempotentRequest,
): Promise<string | null> {
  const { callerId, operation, key } = request;
  const [first] = await db
    .select()
    .from(idempotencyKeys)
    .where(
      and(
        eq(idempotencyKeys.callerId, callerId),
        eq(idempotencyKeys.operation, operation),
        eq(idempotencyKeys.key, key),
      ),
    );
  if (!first) return null;
  if (first.inputHash !== hashInput(request.input)) {
    throw new DomainError(
      'IDEMPOTENCY_CONFLICT',
      `The idempotency key "${key}" was used before for ${operation} with a different input. ` +
        'Use a new key for a new request.',
      { field: 'input.idempotencyKey', operation },
    );
  }
  return first.subjectId;
}

/** Field order doesn't matter; every field does. */
function hashInput(input: IdempotentRequest['input']): string {
  const canonical = Object.entries(input)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => [name, typeof value, String(value)]);
  return createHash('sha256').update(JSON.stringify(canonical)).digest('hex');
}
