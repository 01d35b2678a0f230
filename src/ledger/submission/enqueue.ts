/**
 * Writes an intent. Call it in the transaction of what the call is for: both are there, or neither.
 */
import { sql } from 'drizzle-orm';
import type { Clock, IdSource } from '../../clock.ts';
import type { Tx } from '../../db/connection.ts';
import { submissions } from '../../db/schema/index.ts';
import type { NetworkCall } from '../network/port.ts';
import { encodeCall } from './callCodec.ts';
import type { Submission } from './settle.ts';

/**
 * @returns the submission's id. A subject has at most one submission of each kind beside those that were
 * refused; a second one breaks a unique key, so a saga's step that runs twice can't send twice.
 */
export async function enqueueSubmission(
  tx: Tx,
  deps: { clock: Clock; ids: IdSource },
  intent: { subjectId: string; call: NetworkCall; signer?: Submission['signer'] },
): Promise<string> {
  const id = deps.ids.next();
  const now = deps.clock.now();
  await tx.insert(submissions).values({
    id,
    kind: intent.call.kind,
    subjectId: intent.subjectId,
    call: encodeCall(intent.call),
    signer: intent.signer ?? 'CUSTODY',
    state: 'PENDING',
    // By the database's clock, like the claims: an instance whose own is ahead would make it wait as long.
    dueAt: sql`now()`,
    createdAt: now,
  });
  return id;
}
