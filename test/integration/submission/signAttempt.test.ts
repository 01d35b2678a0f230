/**
 * Two instances sign one submission at once: the second sends the first one's bytes, or nothing. No worker runs.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Tx } from '../../../src/db/connection.ts';
import { updateById } from '../../../src/db/findByIds.ts';
import { submissions } from '../../../src/db/tables/index.ts';
import type { NetworkCall, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { findOpenAttempts } from '../../../src/ledger/submission/attempts.ts';
import type { Intent } from '../../../src/ledger/submission/effects.ts';
import { enqueueSubmission } from '../../../src/ledger/submission/enqueue.ts';
import { insertAttempt, signAttempts, type Signed } from '../../../src/ledger/submission/signAttempt.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { idlePlatform, type StartedPlatform } from '../../support/platform.ts';

const call: NetworkCall = { kind: 'retire', tokenAddress: 'T', amount: 1n, beneficiary: 'b', note: '' };
let database: TestDatabase;
let platform: Platform;
let end: StartedPlatform['end'];

beforeAll(async () => {
  ({ database, platform, end } = await idlePlatform());
});
afterAll(() => end());

const prepared = (): PreparedTransaction => ({
  hash: `0x${randomBytes(32).toString('hex')}`,
  signedBytes: randomBytes(8),
  source: 'C',
  sequence: null,
  validUntil: null,
  preparedAtLedger: 1n,
});

/** @returns what an instance signs that waited for the submission's lock, while `meanwhile` ran under it */
async function signAfter(
  meanwhile: (tx: Tx, submissionId: string) => Promise<unknown>,
): Promise<{ submissionId: string; signed: Signed | undefined }> {
  const { db } = database.handle;
  const deps = platform.dependencies.submission;
  const target = { targetType: 'RETIREMENT', targetId: randomUUID() } as const;
  const submissionId = await db.transaction((tx) => enqueueSubmission(tx, deps, { ...target, call }));
  const intent: Intent = { ...target, submissionId, signer: 'CUSTODY', call };
  let waiting: Promise<Signed[]> = Promise.resolve([]);
  await db.transaction(async (tx) => {
    await tx.select().from(submissions).where(eq(submissions.id, submissionId)).for('update');
    waiting = signAttempts(deps, [{ intent, draft: { sign: async () => prepared() } }]);
    // Shorter than the time after which PostgreSQL ends the lock holder's transaction.
    await expect.poll(() => hasLockWait(database.handle), { timeout: 5_000 }).toBe(true);
    await meanwhile(tx, submissionId);
  });
  return { submissionId, signed: (await waiting)[0] };
}

it('signs nothing where another instance has signed while the lock was waited for', async () => {
  const first = prepared();
  const { submissionId, signed } = await signAfter((tx, id) =>
    insertAttempt(tx, platform.dependencies.submission, id, first, null),
  );
  expect(signed).toMatchObject([{ hash: first.hash }]);
  expect(await findOpenAttempts(database.handle.db, submissionId)).toHaveLength(1);
});

it('sends no bytes of a submission that went to review while the lock was waited for', async () => {
  const first = prepared();
  const { submissionId, signed } = await signAfter(async (tx, id) => {
    await insertAttempt(tx, platform.dependencies.submission, id, first, null);
    await updateById(tx, submissions, id, { state: 'NEEDS_REVIEW', reviewCause: 'UNDETERMINABLE' });
  });
  expect(signed).toEqual([]);
  expect(await findOpenAttempts(database.handle.db, submissionId)).toMatchObject([{ hash: first.hash }]);
});
