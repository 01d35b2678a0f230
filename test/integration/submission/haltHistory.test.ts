/**
 * The table `signing_halts`: why and since when signing was halted, and what ended the halt, also after
 * signing resumes.
 */
import { eq, sql } from 'drizzle-orm';
import { beforeEach, expect, it } from 'vitest';
import { finalLedger, operatorDecisions, signingAccounts } from '../../../src/db/tables/index.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { reviewHaltedSigning } from '../../../src/ledger/submission/haltedSigning.ts';
import { isHaltYounger } from '../../../src/ledger/submission/halts.ts';
import { haltSigning } from '../../../src/ledger/submission/knownHistory.ts';
import type { SubmissionDependencies } from '../../../src/ledger/submission/submission.ts';
import { changePastRules } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { readOpenWork } from '../../../src/resolvers/operations/overdueWork.ts';
import { resumeSigning } from '../../../src/resolvers/operations/resumeSigning.ts';
import { decideHalt } from '../../support/decisions.ts';
import { reviewWorld } from '../../support/reviews.ts';

const { deps, handle, network } = reviewWorld();

let address: string;
const ended = { ended: true, decision_id: null };

/** A network on which all is final, and block 9 of the present chain is b. */
const reviewing = (): SubmissionDependencies => {
  const known: LedgerNetwork = {
    ...network(),
    signingOrder: { accounts: [address], maxOpenPerAccount: 4 },
    nextSequences: async () => new Map([[address, 7n]]),
    presentHistory: async () => ({ ledger: 9n, hash: 'b' }),
  };
  return { ...deps(), network: known, reconcile: async () => [] };
};

const halt = (haltedBecause: string) =>
  handle()
    .db.update(signingAccounts)
    .set({ haltedBecause, reviewDueAt: sql`now()` })
    .where(eq(signingAccounts.address, address));

const halts = () =>
  handle()
    .sql`SELECT because, ended_at >= began_at AS ended, decision_id, replaced_ledger, replaced_hash, accepted_ledger, accepted_hash
    FROM signing_halts WHERE address = ${address} ORDER BY began_at, because DESC`;

beforeEach(async () => {
  address = `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(20))).toString('hex')}`;
  await handle().db.insert(signingAccounts).values({ address, nextSequence: 7n });
  await handle().db.delete(finalLedger);
  await handle().db.insert(finalLedger).values({ ledger: 8n, hash: 'a', acceptances: 1, seenAt: new Date() });
});

const ACCEPTED = { replaced_ledger: '8', replaced_hash: 'a', accepted_ledger: '9', accepted_hash: 'b' };

it('keeps each reason, and the history that was accepted when the halt ended by proof', async () => {
  await halt('the first reason');
  await halt('another reason');
  await halt('another reason');
  const open = { ended: null, decision_id: null, replaced_ledger: null, accepted_ledger: null };
  expect(await halts()).toMatchObject([
    { because: 'the first reason', ...open },
    { because: 'another reason', ...open },
  ]);
  expect(await isHaltYounger(handle().db, 60)).toBe(true);
  const before = sql`UPDATE signing_halts SET began_at = now() - interval '61 minutes' WHERE address = ${address}`;
  await changePastRules({ handle: handle() }, before);
  expect(await isHaltYounger(handle().db, 60)).toBe(false);
  await reviewHaltedSigning(reviewing());
  expect(await halts()).toEqual([
    { because: 'the first reason', ...ended, ...ACCEPTED },
    { because: 'another reason', ...ended, ...ACCEPTED },
  ]);
});

it('leaves the review when it is due while the same reason comes again, and makes it due for another one', async () => {
  const haltFor = async (message: string) => {
    await haltSigning(deps(), handle().db, { address, message });
    const [{ isDue } = {}] = await handle()
      .db.select({ isDue: sql<boolean>`${signingAccounts.reviewDueAt} <= now()` })
      .from(signingAccounts)
      .where(eq(signingAccounts.address, address));
    return isDue;
  };
  expect(await haltFor('a test')).toBe(true);
  // As a review does that begins: each one reads every token.
  await handle()
    .db.update(signingAccounts)
    .set({ reviewDueAt: sql`now() + interval '30 s'` })
    .where(eq(signingAccounts.address, address));
  expect([await haltFor('a test'), await haltFor('another reason')]).toEqual([false, true]);
  await reviewHaltedSigning(reviewing());
});

it('names the decision by which an operator ended it', async () => {
  await halt('a test');
  await reviewHaltedSigning(reviewing());
  await halt('a later one');
  const { log, ids, clock } = deps();
  const { haltVersion } = await readOpenWork(handle().db);
  await halt('the latest one');
  const early = { signingHaltVersion: haltVersion ?? '', reason: 'looked' };
  const resumed = resumeSigning({ submission: reviewing(), log, ids, clock }, 'operator', early);
  await expect(resumed).rejects.toMatchObject({ details: { field: 'input.signingHaltVersion' } });
  await decideHalt({ submission: reviewing(), log, ids, clock }, 'operator', { reason: 'looked' });
  const [decision] = await handle()
    .db.select()
    .from(operatorDecisions)
    .where(eq(operatorDecisions.basis, 'the latest one'));
  expect(await halts()).toMatchObject([
    { because: 'a test', ...ended },
    { because: 'a later one', ended: true, decision_id: decision?.id, accepted_ledger: '9' },
    { because: 'the latest one', ended: true, decision_id: decision?.id, accepted_ledger: '9' },
  ]);
});

it('keeps neither the decision nor the history for another account that is halted at this moment', async () => {
  await halt('a test');
  const { log, ids, clock } = deps();
  const decide = () =>
    decideHalt({ submission: reviewing(), log, ids, clock }, 'operator', { reason: 'looked' });
  const other = `${address}2`;
  let decided: Promise<unknown> | undefined;
  await handle().db.transaction(async (blocking) => {
    await blocking.execute(sql`LOCK TABLE operator_decisions IN SHARE MODE`);
    decided = decide();
    await expect.poll(() => hasLockWait(handle())).toBe(true);
    await handle()
      .db.insert(signingAccounts)
      .values({ address: other, nextSequence: 1n, haltedBecause: 'new' });
  });
  await decided;
  const open = { ended_at: null, decision_id: null, accepted_ledger: null };
  expect(await handle().sql`SELECT * FROM signing_halts WHERE address = ${other}`).toMatchObject([open]);
  // A halt keeps one decision and one history, so this one could otherwise never end.
  await decide();
  expect((await readOpenWork(handle().db)).haltedBecause).toBeNull();
});

it('is shown with the reasons of all accounts, whose halts end together', async () => {
  const other = { address: `${address}3`, nextSequence: 1n };
  await handle()
    .db.insert(signingAccounts)
    .values({ ...other, haltedBecause: 'new' });
  for (const reason of ['a test', 'new']) {
    await halt(reason);
    const { haltedBecause } = await readOpenWork(handle().db);
    expect(haltedBecause).toBe(reason === 'new' ? 'new' : 'a test; new');
  }
  await handle().db.update(signingAccounts).set({ haltedBecause: null });
});

it('begins with an account that is halted from its start, and is not changed', async () => {
  await halt('a test');
  await reviewHaltedSigning(reviewing());
  const { sql: run } = handle();
  await run`INSERT INTO signing_accounts (address, next_sequence, halted_because) VALUES (${`${address}1`}, 1, 'new')`;
  expect(
    await run`SELECT because FROM signing_halts WHERE address = ${`${address}1`} AND ended_at IS NULL`,
  ).toEqual([{ because: 'new' }]);
  await run`UPDATE signing_accounts SET halted_because = NULL WHERE address = ${`${address}1`}`;
  await expect(run`UPDATE signing_halts SET because = 'x'`).rejects.toThrow('fixed');
  await expect(run`UPDATE signing_halts SET ended_at = now() + interval '1 s'`).rejects.toThrow('set once');
  await expect(run`DELETE FROM signing_halts`).rejects.toThrow('append-only');
});
