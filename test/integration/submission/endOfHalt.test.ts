/**
 * The end of a halt, by a review or by an operator, while other instances and operators decide and halt anew.
 */
import { eq, sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { finalLedger, signingAccounts, submissions } from '../../../src/db/tables/index.ts';
import { decideAttempt } from '../../../src/ledger/submission/attempts.ts';
import {
  createHaltReview,
  resumeSigning,
  reviewHaltedSigning,
} from '../../../src/ledger/submission/haltedSigning.ts';
import { giveUpSubmission, resumeSubmission } from '../../../src/ledger/submission/review.ts';
import { insertAttempt } from '../../../src/ledger/submission/signAttempt.ts';
import { settle } from '../../../src/ledger/submission/settle.ts';
import type { SubmissionDependencies } from '../../../src/ledger/submission/submission.ts';
import { NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import { changePastRules } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { reviewWorld } from '../../support/reviews.ts';

const { deps, handle, network, pendingRetirement, underReview, stateOf } = reviewWorld();

const address = `0x${'c'.repeat(40)}`;
/** One account that signs with sequences, and whose whole history is known and final. */
const numbered = (): LedgerNetwork => ({
  ...network(),
  signingOrder: { accounts: [address], maxOpenPerAccount: 4 },
  nextSequences: async () => new Map([[address, 7n]]),
});
const reviewing = (): SubmissionDependencies => ({
  ...deps(),
  network: numbered(),
  reconcile: async () => [],
});

async function haltSigning(): Promise<void> {
  const values = { address, nextSequence: 7n, haltedBecause: 'a test says so', reviewDueAt: sql`now()` };
  await handle()
    .db.insert(signingAccounts)
    .values(values)
    .onConflictDoUpdate({ target: signingAccounts.address, set: values });
  await handle()
    .db.update(submissions)
    .set({ reviewCause: 'UNDETERMINABLE' })
    .where(eq(submissions.reviewCause, 'SIGNING_HALTED'));
}

/** The conclusion of a step that has read the halt. */
const HALTED = {
  kind: 'needsReview',
  attemptHash: null,
  cause: 'SIGNING_HALTED',
  reason: 'halted',
} as const;

describe('the end of a halt', () => {
  beforeEach(haltSigning);

  it('passes over what an operator decides at this moment, and resumes the rest', async () => {
    const all = [await underReview('SIGNING_HALTED'), await underReview('SIGNING_HALTED', 5n)];
    const [first, second] = all.map(({ submissionId }) => submissionId);
    let decided: Promise<void> | undefined;
    // The decision holds the first submission's row when the review reaches it.
    const operator = giveUpSubmission(
      {
        ...deps(),
        crashPoint: async (point) => {
          if (point !== 'settlement-uncommitted') return;
          decided = reviewHaltedSigning(reviewing());
          await expect
            .poll(async () => (await hasLockWait(handle())) || (await stateOf(second ?? '')) === 'PENDING')
            .toBe(true);
        },
      },
      first ?? '',
    );
    await operator;
    await decided;
    expect(await stateOf(first ?? '')).toBe('REFUSED');
    expect(await stateOf(second ?? '')).toBe('PENDING');
  });

  it('is reviewed again while something that an operator did not decide in the end waits for it', async () => {
    const { submissionId } = await underReview('SIGNING_HALTED');
    const operator = giveUpSubmission(
      {
        ...deps(),
        crashPoint: async (point) => {
          if (point !== 'settlement-uncommitted') return;
          await reviewHaltedSigning(reviewing());
          throw new Error('the connection broke');
        },
      },
      submissionId,
    );
    await expect(operator).rejects.toThrow('the connection broke');
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
    const [account] = await handle()
      .db.update(signingAccounts)
      .set({ reviewDueAt: sql`${signingAccounts.reviewDueAt} - interval '30 seconds'` })
      .returning();
    expect(account).toMatchObject({ haltedBecause: null, reviewDueAt: expect.any(Date) as Date });
    await reviewHaltedSigning(reviewing());
    expect(await stateOf(submissionId)).toBe('PENDING');
  });

  it('comes before an operator resumes what waits for it', async () => {
    const { submissionId } = await underReview('SIGNING_HALTED');
    await expect(resumeSubmission(reviewing(), submissionId)).rejects.toThrow('resumeSigning comes first');
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
  });

  it('resumes the rest also when the instance dies in between', async () => {
    const { submissionId } = await underReview('SIGNING_HALTED');
    const { effects, ...rest } = reviewing();
    const of = effects.CUSTODY.RETIREMENT?.retire;
    if (!of) throw new Error('retirements have no effects');
    const dying = { ...of, resumed: () => Promise.reject(new Error('killed')) };
    const RETIREMENT = { retire: dying };
    await reviewHaltedSigning({
      ...rest,
      effects: { ...effects, CUSTODY: { ...effects.CUSTODY, RETIREMENT } },
    });
    const [account] = await handle().db.select().from(signingAccounts);
    expect(account?.haltedBecause).toBeNull();
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
    // Simulates the passing of half a minute.
    await handle()
      .db.update(signingAccounts)
      .set({ reviewDueAt: sql`now()` });
    await reviewHaltedSigning(reviewing());
    expect(await stateOf(submissionId)).toBe('PENDING');
  });

  it('leaves nothing under review that an instance found halted before it ended', async () => {
    const { submission, submissionId } = await pendingRetirement(4n);
    await reviewHaltedSigning(reviewing());
    // Another instance's step has read the halt before, and reports it only now.
    expect(await settle(deps(), submission, HALTED)).toBe(false);
    expect(await stateOf(submissionId)).toBe('PENDING');
  });

  it('waits for an instance that puts a submission under review, and resumes that too', async () => {
    const { submission, submissionId } = await pendingRetirement(4n);
    let ended: Promise<void> | undefined;
    const crashPoint = async (point: string) => {
      if (point !== 'settlement-uncommitted') return;
      ended = reviewHaltedSigning(reviewing());
      await expect.poll(() => hasLockWait(handle())).toBe(true);
    };
    expect(await settle({ ...deps(), crashPoint }, submission, HALTED)).toBe(true);
    await ended;
    expect(await stateOf(submissionId)).toBe('PENDING');
  });

  it('lets an operator decide alone what is under review when the operator ends it', async () => {
    const { submissionId } = await underReview('SIGNING_HALTED');
    await resumeSigning(reviewing());
    await reviewHaltedSigning(reviewing());
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
  });

  it('puts under review what no process has come to since signing was halted', async () => {
    const { submissionId } = await pendingRetirement(4n);
    await resumeSigning(reviewing());
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
  });

  it('is not proved while something is under way, nor while something is not final', async () => {
    const isHalted = async () =>
      (await handle().db.select().from(signingAccounts))[0]?.haltedBecause !== null;
    const waiting: LedgerNetwork['nextSequences'] = async (at) =>
      new Map([[address, at === 'final' ? 6n : 7n]]);
    const network = { ...numbered(), nextSequences: waiting };
    await reviewHaltedSigning({ ...reviewing(), network });
    expect(await isHalted()).toBe(true);

    const { submissionId } = await pendingRetirement(4n);
    const open = {
      hash: 'open',
      signedBytes: Buffer.from('open'),
      source: address,
      sequence: 6n,
      validUntil: null,
      preparedAtLedger: 4n,
    };
    await handle().db.transaction((tx) => insertAttempt(tx, deps(), submissionId, open, null));
    await haltSigning();
    await reviewHaltedSigning(reviewing());
    expect(await isHalted()).toBe(true);
    await decideAttempt(handle().db, open.hash, 'DEAD', 'by the test', new Date());
    await haltSigning();
    await reviewHaltedSigning(reviewing());
    expect(await isHalted()).toBe(false);
  });

  it('takes no sequence for known that one answer alone has named', async () => {
    // Several nodes may share one address. One may be of another network, where the same key has sent more.
    const nextSequences: LedgerNetwork['nextSequences'] = async (by) =>
      new Map([[address, by === 'latest' ? 900n : 7n]]);
    const on = { ...reviewing(), network: { ...numbered(), nextSequences } };
    await reviewHaltedSigning(on);
    await expect(resumeSigning(on)).rejects.toThrow('is not final yet (sequence 7 of 900)');
    const [account] = await handle().db.select().from(signingAccounts);
    expect(account).toMatchObject({ haltedBecause: 'a test says so', nextSequence: 7n });
  });

  it('leaves to the operator what an earlier halt left undecided, also when a later one is proved harmless', async () => {
    const left = await underReview('SIGNING_HALTED');
    await resumeSigning(reviewing());
    await handle()
      .db.update(signingAccounts)
      .set({ haltedBecause: 'another reason', reviewDueAt: sql`now()` });
    const later = await underReview('SIGNING_HALTED', 5n);
    await reviewHaltedSigning(reviewing());
    expect(await stateOf(later.submissionId)).toBe('PENDING');
    expect(await stateOf(left.submissionId)).toBe('NEEDS_REVIEW');
  });
});

describe('a halt that is raised anew while its end is decided', () => {
  const raise = async (haltedBecause: string) => {
    await handle()
      .db.update(signingAccounts)
      .set({ haltedBecause, reviewDueAt: sql`now()` });
    return [];
  };
  const halt = async () =>
    (await handle().db.select().from(signingAccounts).where(eq(signingAccounts.address, address)))[0];
  const watched = (overrides: Partial<LedgerNetwork>): LedgerNetwork => ({
    ...numbered(),
    presentHistory: async () => ({ ledger: 9n, hash: 'b' }),
    ...overrides,
  });
  const accepted = () => handle().db.$count(finalLedger);
  beforeEach(async () => {
    await handle().db.delete(finalLedger);
    await haltSigning();
  });

  it('is not ended by a review that has not examined it', async () => {
    const { submissionId } = await underReview('SIGNING_HALTED');
    await reviewHaltedSigning({ ...reviewing(), reconcile: () => raise('another reason') });
    expect(await halt()).toMatchObject({ haltedBecause: 'another reason' });
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
    await raise('another reason');
    await reviewHaltedSigning(reviewing());
    expect(await stateOf(submissionId)).toBe('PENDING');
  });

  it('is not ended by an operator who has not seen it', async () => {
    const network = watched({
      continuity: () => raise('another reason').then(() => ({ status: 'whole' as const })),
    });
    const resumed = resumeSigning({ ...reviewing(), network });
    await expect(resumed).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await halt()).toMatchObject({ haltedBecause: 'another reason' });
    expect(await accepted()).toBe(0);
  });

  it('does not end the halt of another account that begins at this moment', async () => {
    const other = `0x${'d'.repeat(40)}`;
    const halted = { address: other, nextSequence: 1n, haltedBecause: 'another reason' };
    const confirm = async () => void (await handle().db.insert(signingAccounts).values(halted));
    await resumeSigning({ ...reviewing(), network: watched({}) }, confirm);
    expect(await halt()).toMatchObject({ haltedBecause: null });
    const isOther = eq(signingAccounts.address, other);
    const [stillHalted] = await handle().db.select().from(signingAccounts).where(isOther);
    expect(stillHalted).toMatchObject({ haltedBecause: 'another reason' });
    await handle().db.update(signingAccounts).set({ haltedBecause: null }).where(isOther);
  });

  it('accepts no history when the second person does not agree', async () => {
    const disagree = () => Promise.reject(new DomainError('CONFLICT', 'It was withdrawn.'));
    const resumed = resumeSigning({ ...reviewing(), network: watched({}) }, disagree);
    await expect(resumed).rejects.toThrow('It was withdrawn.');
    expect(await halt()).toMatchObject({ haltedBecause: 'a test says so' });
    expect(await accepted()).toBe(0);
  });

  it('stays halted when the network does not say what its history is', async () => {
    const network = watched({ presentHistory: () => Promise.reject(new NetworkUnavailable('no answer')) });
    await expect(resumeSigning({ ...reviewing(), network })).rejects.toThrow('no answer');
    expect(await halt()).toMatchObject({ haltedBecause: 'a test says so' });
  });

  it('is not ended while the chain was rewritten meanwhile, and no history is accepted that was not examined', async () => {
    const message = 'Block 5 was final as a, and is b now';
    const rewritten = watched({ continuity: async () => ({ status: 'rewritten', message }) });
    await reviewHaltedSigning({ ...reviewing(), network: rewritten });
    expect(await halt()).toMatchObject({ haltedBecause: message });
    expect(await accepted()).toBe(0);
    await raise(message);
    await reviewHaltedSigning({ ...reviewing(), network: rewritten });
    expect(await halt()).toMatchObject({ haltedBecause: null });
    expect(await accepted()).toBe(1);
  });

  it('is reviewed by one review of an instance at a time, however long it takes', async () => {
    const under = { begun: () => {}, end: () => {} };
    const begun = new Promise<void>((resolve) => (under.begun = resolve));
    const end = new Promise<void>((resolve) => (under.end = resolve));
    let reconciled = 0;
    const review = createHaltReview({
      ...reviewing(),
      reconcile: async () => {
        reconciled += 1;
        under.begun();
        await end;
        return ['something differs'];
      },
    });
    const first = review();
    await begun;
    // Simulates the passing of more than half a minute.
    await raise('a test says so');
    const second = review();
    under.end();
    await Promise.all([first, second]);
    expect(reconciled).toBe(1);
    // The next look is due half a minute after this one ends.
    const { reviewDueAt } = (await halt()) ?? {};
    expect(reviewDueAt?.getTime()).toBeGreaterThan(Date.now() + 20_000);
  });
});

describe('what had landed and is undone', () => {
  const source = `0x${'d'.repeat(40)}`;
  beforeEach(haltSigning);

  it('is sent again while it can land, and its sequence is named as one to fill when it can not', async () => {
    const { submissionId } = await pendingRetirement(4n);
    const signed = {
      hash: 'undone',
      signedBytes: Buffer.from('undone'),
      source,
      sequence: 7n,
      validUntil: 1_000n,
      preparedAtLedger: 4n,
    };
    await handle().db.transaction((tx) => insertAttempt(tx, deps(), submissionId, signed, null));
    await decideAttempt(handle().db, signed.hash, 'LANDED', 'ledger 5', new Date(), 5n);
    const sent: string[] = [];
    let closedAt = signed.validUntil;
    const network: LedgerNetwork = {
      ...numbered(),
      signingOrder: { accounts: [source], maxOpenPerAccount: 1 },
      nextSequences: async () => new Map([[source, signed.sequence]]),
      status: async () => ({ ledger: 9n, closedAt, oldestLedger: 1n }),
      broadcast: async (bytes) => {
        sent.push(String(Buffer.from(bytes)));
        return { status: 'accepted' };
      },
    };
    const on = { ...reviewing(), network };
    await reviewHaltedSigning(on);
    expect(sent).toEqual(['undone']);
    await expect(resumeSigning(on)).rejects.toThrow('It is sent again by itself');
    closedAt += 1n;
    await haltSigning();
    await reviewHaltedSigning(on);
    expect(sent).toEqual(['undone']);
    await expect(resumeSigning(on)).rejects.toThrow(/can no longer land.*It waits for sequence 7/);
  });

  it('is named in one line of the log, however many accounts wait for a sequence', async () => {
    const accounts = ['e', 'f'].map((digit) => `0x${digit.repeat(40)}`);
    for (const [at, account] of accounts.entries()) {
      const { submissionId } = await pendingRetirement(4n + BigInt(at));
      const signed = {
        hash: `over ${account}`,
        signedBytes: Buffer.from('over'),
        source: account,
        sequence: 7n,
        validUntil: 1_000n,
        preparedAtLedger: 4n,
      };
      await handle().db.transaction((tx) => insertAttempt(tx, deps(), submissionId, signed, null));
      await decideAttempt(handle().db, signed.hash, 'LANDED', 'ledger 5', new Date(), 5n);
    }
    const network: LedgerNetwork = {
      ...numbered(),
      signingOrder: { accounts, maxOpenPerAccount: 1 },
      nextSequences: async () => new Map(accounts.map((account) => [account, 7n])),
      status: async () => ({ ledger: 9n, closedAt: 1_001n, oldestLedger: 1n }),
    };
    const errors: unknown[] = [];
    const log = { ...deps().log, error: (fields: object) => void errors.push(fields) };
    await reviewHaltedSigning({ ...reviewing(), network, log });
    expect(errors).toEqual([{ gaps: accounts.map((account) => ({ address: account, sequence: 7n })) }]);
  });
});

describe('a halt that can not end yet', () => {
  const reviewedAgainAfterMs = async (on: SubmissionDependencies): Promise<number> => {
    await handle()
      .db.update(signingAccounts)
      .set({ reviewDueAt: sql`now()` });
    await reviewHaltedSigning(on);
    const [account] = await handle()
      .db.select({
        ms: sql<number>`extract(epoch FROM ${signingAccounts.reviewDueAt} - now())::float * 1000`,
      })
      .from(signingAccounts);
    return account?.ms ?? 0;
  };

  it('is looked at every two seconds, and after some minutes every half a minute', async () => {
    await haltSigning();
    const nextSequences: LedgerNetwork['nextSequences'] = async (by) =>
      new Map([[address, by === 'final' ? 6n : 7n]]);
    const on = { ...reviewing(), network: { ...numbered(), nextSequences } };
    expect(await reviewedAgainAfterMs(on)).toBeLessThan(3_000);
    const earlier = sql`UPDATE signing_halts SET began_at = began_at - interval '6 minutes'`;
    await changePastRules({ handle: handle() }, earlier);
    expect(await reviewedAgainAfterMs(on)).toBeGreaterThan(20_000);
  });

  it('keeps what an earlier halt left under review, and its own next review', async () => {
    await haltSigning();
    const { db } = handle();
    const dueAt = new Date(Date.now() + 30_000);
    await db.update(signingAccounts).set({ reviewDueAt: dueAt });
    const ended = { address: `0x${'e'.repeat(40)}`, nextSequence: 1n, reviewDueAt: sql`now()` };
    await db.insert(signingAccounts).values(ended);
    const { submissionId } = await underReview('SIGNING_HALTED');
    await reviewHaltedSigning(reviewing());
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
    // Then nothing waits for the end of the earlier halt any more.
    await db
      .update(submissions)
      .set({ reviewCause: 'UNDETERMINABLE' })
      .where(eq(submissions.id, submissionId));
    await db.update(signingAccounts).set(ended).where(eq(signingAccounts.address, ended.address));
    await reviewHaltedSigning(reviewing());
    const [halted] = await db.select().from(signingAccounts).where(eq(signingAccounts.address, address));
    expect(halted?.reviewDueAt).toEqual(dueAt);
  });
});
