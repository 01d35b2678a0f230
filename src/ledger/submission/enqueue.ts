/**
 * Writes an intent. Call it in the transaction of the row that the call is for: both are committed, or none.
 */
import { sql, type SQL } from 'drizzle-orm';
import type { IdSource } from '../../lib/clock.ts';
import type { Tx } from '../../db/connection.ts';
import { TRANSACTION_TIME } from '../../db/databaseTime.ts';
import { insertionOf } from '../../db/manyRows.ts';
import { submissions } from '../../db/tables/index.ts';
import type { NetworkCall } from '../network/port.ts';
import type { Signer, TargetType } from './effects.ts';
import { encodeExact } from './exactJson.ts';

/**
 * Times of the database's clock, as for leases. An instance's fast clock would delay a submission, and would
 * hide for the same time that the submission is stuck.
 */
const COMPUTED = { dueAt: sql`now()`, createdAt: TRANSACTION_TIME };

interface NewIntent {
  targetType: TargetType;
  targetId: string;
  call: NetworkCall;
  signer?: Signer;
}

/**
 * A target has at most one submission of each kind besides refused ones. A second one violates a unique key,
 * so a saga's step that runs twice can't send twice.
 * @returns the submission's id
 */
export async function enqueueSubmission(tx: Tx, deps: { ids: IdSource }, intent: NewIntent): Promise<string> {
  const id = deps.ids.next();
  await tx.execute(insertionOfIntents([id], [intent]));
  return id;
}

/** The insertion, for a statement that makes other changes, too. */
export function insertionOfIntents(ids: readonly string[], intents: readonly NewIntent[]): SQL {
  const rows = intents.map(({ call, targetType, targetId, signer = 'CUSTODY' }, i) => ({
    id: ids[i] ?? '',
    kind: call.kind,
    targetType,
    targetId,
    call: encodeExact(call),
    signer,
    state: 'PENDING' as const,
  }));
  return insertionOf(submissions, rows, COMPUTED);
}
