/**
 * Idempotency keys: the same key with the same input returns the first answer; with another input it is an error. The key is
 * reserved by a unique insert in the transaction of the effect, so a second request waits for the first one's outcome in the
 * database, on every instance. A request that failed leaves nothing behind, not even its key: sending it again tries again.
 */
import { createHash } from 'node:crypto';
import { and, eq } from 'drizzle-orm';
import type { Db, Tx } from '../../db/connection.ts';
import { idempotencyKeys } from '../../db/tables/index.ts';
import type { PostingKey } from '../../ledger/books/books.ts';
import { DomainError } from '../../lib/errors.ts';

export interface IdempotentRequest {
  /** Keys are scoped to their caller. */
  callerSubject: string;
  operation: string;
  key: string;
  /** Addresses in the network's one spelling: a client may spell them otherwise when it sends the same again. */
  input: Readonly<Record<string, string | number | bigint | null | undefined>>;
}

/**
 * @returns null when the key is new and now refers to `targetId`, else the target of its first use.
 * @throws DomainError IDEMPOTENCY_CONFLICT
 */
export async function reserveKey(
  tx: Tx,
  request: IdempotentRequest,
  targetId: string,
  at: Date,
): Promise<string | null> {
  const { callerSubject, operation, key } = request;
  const inserted = await tx
    .insert(idempotencyKeys)
    .values({ callerSubject, operation, key, inputHash: hashInput(request.input), targetId, createdAt: at })
    .onConflictDoNothing()
    .returning({ key: idempotencyKeys.key });
  if (inserted.length > 0) return null;
  const first = await findFirstUse(tx, request);
  if (first === null) throw new Error(`idempotency key of ${operation} neither inserted nor found`);
  return first;
}

/**
 * For requests whose checks depend on state that their own first use has changed.
 * @returns the target of the key's first use, or null.
 * @throws DomainError IDEMPOTENCY_CONFLICT
 */
export async function findFirstUse(
  db: Pick<Db, 'select'>,
  request: IdempotentRequest,
): Promise<string | null> {
  const { callerSubject, operation, key } = request;
  const [first] = await db
    .select()
    .from(idempotencyKeys)
    .where(
      and(
        eq(idempotencyKeys.callerSubject, callerSubject),
        eq(idempotencyKeys.operation, operation),
        eq(idempotencyKeys.key, key),
      ),
    );
  if (!first) return null;
  if (first.inputHash !== hashInput(request.input)) throw idempotencyConflict(request);
  return first.targetId;
}

/**
 * For requests whose checks come before their key is reserved. A first use that commits during the checks of a second one may be what
 * they fail of, so they are not believed until it has been looked for again.
 * @param begin checks, and reserves the key; returns the target of its first use, or null when there is nothing to begin
 * @returns the target of the key's first use, which may be this one
 * @throws DomainError IDEMPOTENCY_CONFLICT, and what `begin` throws
 */
export async function findFirstUseOrBegin<Target extends string | null>(
  db: Pick<Db, 'select'>,
  request: IdempotentRequest,
  begin: () => Promise<Target>,
): Promise<Target | string> {
  const earlier = await findFirstUse(db, request);
  if (earlier !== null) return earlier;
  try {
    return await begin();
  } catch (error) {
    const meanwhile = await findFirstUse(db, request);
    if (meanwhile === null) throw error;
    return meanwhile;
  }
}

export function idempotencyConflict({ key, operation }: IdempotentRequest): DomainError {
  return new DomainError(
    'IDEMPOTENCY_CONFLICT',
    `The idempotency key "${key}" was used before for ${operation} with a different input. ` +
      'Use a new key for a new request.',
    { field: 'input.idempotencyKey', operation },
  );
}

/** As the books reserve it, with what is posted. */
export function postingKeyOf({ callerSubject, operation, key, input }: IdempotentRequest): PostingKey {
  return { callerSubject, operation, key, inputHash: hashInput(input) };
}

/**
 * Covers every field, in any order. A field that is null counts as left out: keys are kept for good, so a field that is added later
 * must not change the hash of a request that has none.
 */
function hashInput(input: IdempotentRequest['input']): string {
  const canonical = Object.entries(input)
    .filter(([, value]) => value !== null && value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => [name, typeof value, String(value)]);
  return createHash('sha256').update(JSON.stringify(canonical)).digest('hex');
}
