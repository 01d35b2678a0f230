/**
 * Two instances sign one submission at once: the second sends the first one's bytes. No worker runs.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { submissions } from '../../../src/db/tables/index.ts';
import type { NetworkCall, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { findOpenAttempts } from '../../../src/ledger/submission/attempts.ts';
import type { Intent } from '../../../src/ledger/submission/effects.ts';
import { enqueueSubmission } from '../../../src/ledger/submission/enqueue.ts';
import { insertAttempt, signAttempts, type Signed } from '../../../src/ledger/submission/signAttempt.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';

const call: NetworkCall = { kind: 'retire', tokenAddress: 'T', amount: 1n, beneficiary: 'b', note: '' };
const target = { targetType: 'RETIREMENT', targetId: randomUUID() } as const;
let database: TestDatabase;
let platform: Platform;

beforeAll(async () => {
  database = await createTestDatabase();
  platform = await platformOn(database.handle, await embeddedNetworkOn(database.handle));
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

const signed = (): PreparedTransaction => ({
  hash: `0x${randomBytes(32).toString('hex')}`,
  signedBytes: randomBytes(8),
  source: 'C',
  sequence: null,
  validUntil: null,
  preparedAtLedger: 1n,
});

it('signs nothing where another instance has signed while the lock was waited for', async () => {
  const { db } = database.handle;
  const deps = platform.dependencies.submission;
  const submissionId = await db.transaction((tx) => enqueueSubmission(tx, deps, { ...target, call }));
  const intent: Intent = { ...target, submissionId, signer: 'CUSTODY', call };
  const first = signed();
  let second: Promise<Signed[]> = Promise.resolve([]);
  await db.transaction(async (tx) => {
    await tx.select().from(submissions).for('update');
    second = signAttempts(deps, [{ intent, draft: { sign: async () => signed() } }]);
    // Shorter than the time after which PostgreSQL ends the lock holder's transaction.
    await expect.poll(() => hasLockWait(database.handle), { timeout: 5_000 }).toBe(true);
    await insertAttempt(tx, deps, submissionId, first, null);
  });
  expect(await second).toMatchObject([[{ hash: first.hash }]]);
  expect(await findOpenAttempts(db, submissionId)).toHaveLength(1);
});
