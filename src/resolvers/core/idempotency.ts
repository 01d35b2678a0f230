/**
 * Idempotency keys: the same key with the same input returns the first answer; the same key with another
 * input is an error. A unique insert reserves the key in the transaction of the effect, so a second request
 * waits in the database for the first one's outcome, on every instance. A failed request stores nothing, not
 * even its key, so the client can send it again.
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
  /**
   * The request's input as the mutation understands it: addresses, amounts and sets in their one spelling, and
   * defaults written out, because a retry by another version of a client may spell them differently. The
   * default of a member that is added later counts as left out instead, so that older hashes stay the same.
   */
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
): Promise<string | null> {
  const { callerSubject, operation, key } = request;
  const inserted = await tx
    .insert(idempotencyKeys)
    .values({ callerSubject, operation, key, inputHash: hashInput(request.input), targetId })
    .onConflictDoNothing()
    .returning({ key: idempotencyKeys.key });
  if (inserted.length > 0) return null;
  const first = await findFirstUse(tx, request);
  if (first === null) throw new Error(`idempotency key of ${operation} neither inserted nor found`);
  return first;
}

/**
 * Looks up a key without reserving it, for requests whose checks depend on state that their own first use has
 * changed.
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
 * For requests whose checks come before their key is reserved. The first use may commit while the second runs
 * its checks, and may be the reason why they fail. So after a failure the key is looked up again.
 * @param begin checks, and reserves the key; returns the target of its first use, or null when there is
 *   nothing to begin
 * @returns the target of the key's first use, which may be this request
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

/** The key in the form in which the books reserve it, together with the posting. */
export function postingKeyOf({ callerSubject, operation, key, input }: IdempotentRequest): PostingKey {
  return { callerSubject, operation, key, inputHash: hashInput(input) };
}

/**
 * The members of an input that have a value. A null member counts as left out: keys are stored forever, so a
 * member that is added later must not make another input of a request without it.
 */
export function givenMembers(input: object): [string, unknown][] {
  return Object.entries(input).filter(([, value]) => value !== null && value !== undefined);
}

/** Hashes every member, in any order. */
function hashInput(input: IdempotentRequest['input']): string {
  const canonical = givenMembers(input)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => [name, typeof value, String(value)]);
  return createHash('sha256').update(JSON.stringify(canonical)).digest('hex');
}
