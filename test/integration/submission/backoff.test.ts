/**
 * The times at which work under way is checked and sent again, before and after a time without a node.
 */
import { randomBytes } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterEach, expect, it } from 'vitest';
import { attempts, submissions } from '../../../src/db/tables/index.ts';
import { NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { insertAttempt } from '../../../src/ledger/submission/signAttempt.ts';
import { createSubmissionWorker } from '../../../src/ledger/submission/worker.ts';
import { reviewWorld } from '../../support/reviews.ts';

const { deps, handle, network, pendingRetirement } = reviewWorld();

const address = `0x${'c'.repeat(40)}`;
let worker: ReturnType<typeof createSubmissionWorker>;
afterEach(() => worker.stop());

/** The embedded network with sequence numbers, and with transactions that do not land. */
function numbered(asked: string[], broadcast: LedgerNetwork['broadcast'], nextSequence = 7n): LedgerNetwork {
  return {
    ...network(),
    signingOrder: { accounts: [address], maxOpenPerAccount: 4 },
    nextSequences: async () => new Map([[address, nextSequence]]),
    async draft(call) {
      const draft = await network().draft(call);
      return {
        async sign(slot) {
          if (slot === null) throw new Error('numbered transactions have a slot');
          return { ...(await draft.sign(null)), ...slot };
        },
      };
    },
    async broadcast(bytes) {
      asked.push('broadcast');
      return broadcast(bytes);
    },
    async outcome() {
      asked.push('outcome');
      return { status: 'pending' };
    },
  };
}

const countedOf = async (submissionId: string) => {
  const rows = await handle().db.select().from(submissions).where(eq(submissions.id, submissionId));
  return rows.map(({ failedSteps, stateReason }) => [failedSteps, stateReason])[0];
};

it('sends with the first look after a step that failed, and counts failures apart from looks', async () => {
  const asked: string[] = [];
  let sendings = 0;
  const { submissionId } = await pendingRetirement(1n);
  await handle().db.update(submissions).set({ fruitlessSteps: 1 }).where(eq(submissions.id, submissionId));
  worker = createSubmissionWorker({
    ...deps(),
    network: numbered(asked, async () => {
      sendings += 1;
      if (sendings === 1) throw new NetworkUnavailable('connection refused');
      return { status: 'accepted' };
    }),
  });
  worker.start();
  await expect.poll(() => asked.length).toBeGreaterThanOrEqual(4);
  // The platform asks for the outcome before and after the second sending.
  expect(asked.slice(0, 4)).toEqual(['broadcast', 'outcome', 'broadcast', 'outcome']);
  await expect.poll(() => countedOf(submissionId)).toEqual([0, null]);
});

it('shows why a step failed, whatever characters the node sends', async () => {
  const { submissionId } = await pendingRetirement(1n);
  worker = createSubmissionWorker({
    ...deps(),
    // An earlier transaction has used up a sequence.
    network: numbered(
      [],
      async () => {
        throw new NetworkUnavailable(`\u0000${'x'.repeat(298)}\u{1f332}\nwith https://key@node`);
      },
      8n,
    ),
  });
  worker.start();
  await expect.poll(() => countedOf(submissionId)).toEqual([1, `\ufffd${'x'.repeat(298)}\ufffd`]);
});

it('shows a reason no longer once its transaction has died, also while it waits for a slot', async () => {
  const { db } = handle();
  const signedIn = async (sequence: bigint) => {
    const { submissionId } = await pendingRetirement(1n);
    const hash = randomBytes(32).toString('hex');
    const prepared = { hash, signedBytes: randomBytes(8), source: address, sequence, validUntil: null };
    await db.transaction((tx) =>
      insertAttempt(tx, deps(), submissionId, { ...prepared, preparedAtLedger: 1n }, null),
    );
    return { submissionId, hash };
  };
  const dying = await signedIn(20n);
  // Holds the only slot.
  await signedIn(21n);
  const stateReason = 'The node does not take it: the fee is too low';
  await db
    .update(submissions)
    .set({ stateReason, fruitlessSteps: 1 })
    .where(eq(submissions.id, dying.submissionId));
  const signingOrder = { accounts: [address], maxOpenPerAccount: 1 };
  worker = createSubmissionWorker({
    ...deps(),
    network: {
      ...numbered([], async () => ({ status: 'accepted' })),
      signingOrder,
      outcome: async ({ hash }) =>
        hash === dying.hash ? { status: 'dead', proof: 'it has expired' } : { status: 'pending' },
    },
  });
  worker.start();
  await expect.poll(() => db.$count(attempts, eq(attempts.state, 'DEAD'))).toBe(1);
  await expect.poll(() => countedOf(dying.submissionId)).toEqual([0, null]);
});
