/**
 * Several instances and an operator at once, around reviews: an earlier finding of one never undoes a
 * decision of another.
 */
import { eq, sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { ConnectionLost, NoFreeConnection } from '../../../src/db/connectionLost.ts';
import { refusedByDatabase } from '../../../src/db/refusedByDatabase.ts';
import { signingAccounts, submissions } from '../../../src/db/tables/index.ts';
import type { Effects } from '../../../src/ledger/submission/effects.ts';
import { settleOrReview } from '../../../src/ledger/submission/settleOrReview.ts';
import { createStepStore } from '../../../src/ledger/submission/stepStore.ts';
import { insertAttempt } from '../../../src/ledger/submission/signAttempt.ts';
import {
  NetworkRefusal,
  type LedgerNetwork,
  type PreparedTransaction,
} from '../../../src/ledger/network/port.ts';
import { decideAttempt } from '../../../src/ledger/submission/attempts.ts';
import { adoptOutcome, giveUpSubmission, resumeSubmission } from '../../../src/ledger/submission/review.ts';
import {
  conclusionOfHalt,
  intentOf,
  settle,
  type Conclusion,
} from '../../../src/ledger/submission/settle.ts';
import { step } from '../../../src/ledger/submission/step.ts';
import type { SubmissionDependencies } from '../../../src/ledger/submission/submission.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { reviewWorld } from '../../support/reviews.ts';

const { deps, handle, network, pendingRetirement, underReview, stateOf, balance, burnOutside } =
  reviewWorld();

/** Holds `count` callers until all have arrived. */
function barrier(count: number): () => Promise<void> {
  let arrived = 0;
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return () => {
    arrived += 1;
    if (arrived === count) open();
    return opened;
  };
}

/** The dependencies with changed effects of retirements. */
function withEffects(change: (of: Effects) => Partial<Effects>): SubmissionDependencies {
  const { effects, ...rest } = deps();
  const of = effects.CUSTODY.RETIREMENT?.retire;
  if (!of) throw new Error('retirements have no effects');
  const retire = { ...of, ...change(of) } as Effects;
  return { ...rest, effects: { ...effects, CUSTODY: { ...effects.CUSTODY, RETIREMENT: { retire } } } };
}

/** Runs `work` after each search of the network for a retirement. */
function afterSearch(work: () => Promise<void>): SubmissionDependencies {
  return withEffects((of) => ({
    async findOnNetwork(intent) {
      const found = (await of.findOnNetwork?.(intent)) ?? null;
      await work();
      return found;
    },
  }));
}

const sign = (submissionId: string, prepared: PreparedTransaction) =>
  handle().db.transaction((tx) => insertAttempt(tx, deps(), submissionId, prepared, null));

describe('two retirements that are exactly alike, and one record', () => {
  it('is the outcome of one; the other is a CONFLICT, and can be decided afterwards', async () => {
    const alike = [await underReview('FOUND_ON_NETWORK'), await underReview('FOUND_ON_NETWORK')];
    await burnOutside(4n);
    const racing = afterSearch(barrier(2));
    const answers = await Promise.allSettled(
      alike.map(({ submissionId }) => adoptOutcome(racing, submissionId)),
    );
    const refused = answers.filter((answer) => answer.status === 'rejected');
    expect(refused).toMatchObject([{ reason: { code: 'CONFLICT' } }]);
    const states = await Promise.all(alike.map(({ submissionId }) => stateOf(submissionId)));
    expect(new Set(states)).toEqual(new Set(['NEEDS_REVIEW', 'SUCCEEDED']));
    const other = alike[states.indexOf('NEEDS_REVIEW')]?.submissionId ?? '';
    await giveUpSubmission(deps(), other);
    expect(await stateOf(other)).toBe('REFUSED');
    expect(await balance()).toBe(996n);
  });

  it('is not burned again by a RESUME', async () => {
    const { submissionId } = await underReview('FOUND_ON_NETWORK');
    await burnOutside(4n);
    await expect(resumeSubmission(deps(), submissionId)).rejects.toThrow('ADOPT takes it as the outcome');
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
  });

  it('is not refused by what was refused in landing: an operator decides', async () => {
    const { submission, submissionId } = await pendingRetirement(4n);
    const burned = await burnOutside(4n);
    await sign(submissionId, { ...burned, hash: 'refused', signedBytes: Buffer.from('refused') });
    const refused = { reason: 'INSUFFICIENT_BALANCE', message: 'it has less' } as const;
    const refusing: LedgerNetwork = {
      ...network(),
      outcome: async () => ({ status: 'refused', ledger: 3n, refusal: refused }),
    };
    const on = { ...deps(), network: refusing };
    expect(await step(on, createStepStore(on), submission)).toBe('settled');
    const [row] = await handle().db.select().from(submissions).where(eq(submissions.id, submissionId));
    expect(row).toMatchObject({ state: 'NEEDS_REVIEW', reviewCause: 'FOUND_ON_NETWORK' });
    expect(await balance()).toBe(996n);
  });

  it('is of neither when a stranger has made it', async () => {
    const { submission, submissionId } = await underReview('UNDETERMINABLE');
    const { call } = intentOf(submission);
    if (call.kind !== 'retire') throw new Error(`it is to ${call.kind}`);
    const { tokenAddress, amount, beneficiary, note } = call;
    const stranger = createEmbeddedHolder();
    await network().transfer(tokenAddress, stranger.address, amount);
    await network().createSigner(stranger.secretKey).retire({ tokenAddress, amount, beneficiary, note });
    await giveUpSubmission(deps(), submissionId);
    expect(await stateOf(submissionId)).toBe('REFUSED');
  });

  it('is not offered to one while it is that of another, which has landed and is not settled yet', async () => {
    const [signed, other] = [await pendingRetirement(4n), await underReview('UNDETERMINABLE')];
    await sign(signed.submissionId, await burnOutside(4n));
    await giveUpSubmission(deps(), other.submissionId);
    expect(await stateOf(other.submissionId)).toBe('REFUSED');
  });

  it('is offered to none while one that can still land may have made it', async () => {
    const [signed, other] = [await pendingRetirement(4n), await underReview('FOUND_ON_NETWORK')];
    await burnOutside(4n);
    const draft = await network().draft(intentOf(signed.submission).call);
    await sign(signed.submissionId, await draft.sign(null));
    await expect(adoptOutcome(deps(), other.submissionId)).rejects.toThrow('An equal burn is under way');
  });

  it('is offered to none that was never signed, while one that was signed has no outcome that can be proved', async () => {
    const signed = await underReview('UNDETERMINABLE');
    const unsigned = await underReview('FOUND_ON_NETWORK');
    const burned = await burnOutside(4n);
    // The attempt belongs to a history that the network does not have.
    await sign(signed.submissionId, { ...burned, hash: 'gone', preparedAtLedger: 10n ** 9n });
    await expect(adoptOutcome(deps(), unsigned.submissionId)).rejects.toThrow(
      'An equal burn is under way, or under review',
    );
    await adoptOutcome(deps(), signed.submissionId);
    await giveUpSubmission(deps(), unsigned.submissionId);
    expect(await balance()).toBe(996n);
  });

  it('is offered to each that was signed, while none of their outcomes can be proved', async () => {
    const [one, other] = [await underReview('UNDETERMINABLE'), await underReview('UNDETERMINABLE')];
    const burned = await burnOutside(4n);
    const forgotten = { ...burned, preparedAtLedger: 10n ** 9n };
    await sign(one.submissionId, { ...forgotten, hash: 'lost' });
    await sign(other.submissionId, { ...forgotten, hash: 'lost as well' });
    await adoptOutcome(deps(), other.submissionId);
    await giveUpSubmission(deps(), one.submissionId);
    expect([await stateOf(other.submissionId), await stateOf(one.submissionId)]).toEqual([
      'SUCCEEDED',
      'REFUSED',
    ]);
  });

  it('is a CONFLICT for the one whose transaction made it, once the other has taken it', async () => {
    const [signed, other] = [await underReview('UNDETERMINABLE'), await underReview('FOUND_ON_NETWORK')];
    const burned = await burnOutside(4n);
    await adoptOutcome(deps(), other.submissionId);
    await sign(signed.submissionId, burned);
    const taken = { code: 'CONFLICT', message: expect.stringContaining('the outcome of another submission') };
    await expect(adoptOutcome(deps(), signed.submissionId)).rejects.toMatchObject(taken);
    await expect(giveUpSubmission(deps(), signed.submissionId)).rejects.toMatchObject(taken);
    expect(await stateOf(signed.submissionId)).toBe('NEEDS_REVIEW');
  });
});

describe('what an instance found before another one sent the submission to review', () => {
  it.each([
    ['a refusal', { kind: 'refused', attemptHash: null, refusal: { reason: 'PAUSED', message: 'paused' } }],
    ['a halt', { kind: 'needsReview', attemptHash: null, cause: 'SIGNING_HALTED', reason: 'halted' }],
  ] as const)('is outdated: %s', async (_name, conclusion) => {
    const { submission, submissionId } = await underReview('FOUND_ON_NETWORK');
    expect(await settle(deps(), submission, conclusion)).toBe(false);
    const [row] = await handle().db.select().from(submissions).where(eq(submissions.id, submissionId));
    expect(row).toMatchObject({ state: 'NEEDS_REVIEW', reviewCause: 'FOUND_ON_NETWORK' });
    expect(await balance()).toBe(996n);
  });
});

describe('what an instance found before a review, when an operator has resumed the submission since', () => {
  const refused: NetworkRefusal = new NetworkRefusal({ reason: 'PAUSED', message: 'paused' });
  const cause = 'UNDETERMINABLE';
  const reviewOf = (attemptHash: string | null): Conclusion => ({
    kind: 'needsReview',
    attemptHash,
    cause,
    reason: 'history is gone',
  });

  it('is outdated: a refusal', async () => {
    const { submission, submissionId } = await pendingRetirement(4n);
    let searches = 0;
    const slow = afterSearch(async () => {
      searches += 1;
      if (searches !== 2) return;
      await settle(deps(), submission, reviewOf(null));
      await resumeSubmission(deps(), submissionId);
    });
    const refusing = { ...slow, network: { ...network(), draft: () => Promise.reject(refused) } };
    await step(refusing, createStepStore(refusing), submission);
    expect(searches).toBe(2);
    expect(await stateOf(submissionId)).toBe('PENDING');
    expect(await balance()).toBe(996n);
  });

  it('is outdated: too many deaths', async () => {
    const { submission, submissionId } = await underReview('FOUND_ON_NETWORK');
    await resumeSubmission(deps(), submissionId);
    const died = { kind: 'needsReview', attemptHash: null, cause: 'ATTEMPTS_DIED', reason: 'died' } as const;
    expect(await settle(deps(), submission, died)).toBe(false);
    expect(await stateOf(submissionId)).toBe('PENDING');
  });

  it('is outdated: no outcome of what was signed', async () => {
    const { submission, submissionId } = await pendingRetirement(4n);
    const burned = await burnOutside(4n);
    await sign(submissionId, burned);
    await settle(deps(), submission, reviewOf(burned.hash));
    await resumeSubmission(deps(), submissionId);
    expect(await settle(deps(), submission, reviewOf(burned.hash))).toBe(false);
    expect(await stateOf(submissionId)).toBe('PENDING');
  });

  it.each([
    ['to give up', giveUpSubmission],
    ['to resume', resumeSubmission],
  ])('is outdated: the decision of another operator %s', async (_, decide) => {
    const { submissionId } = await underReview('UNDETERMINABLE');
    const slow = afterSearch(async () => {
      await resumeSubmission(deps(), submissionId);
      const [resumed] = await handle().db.select().from(submissions).where(eq(submissions.id, submissionId));
      if (!resumed) throw new Error('it has vanished');
      await settle(deps(), resumed, reviewOf(null));
    });
    await expect(decide(slow, submissionId)).rejects.toThrow('decided otherwise meanwhile');
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
  });

  it('holds if signing is halted anew: that is examined when it is written', async () => {
    const { submission, submissionId } = await underReview('FOUND_ON_NETWORK');
    await resumeSubmission(deps(), submissionId);
    const address = `0x${'c'.repeat(40)}`;
    const halt = { address, nextSequence: 7n, haltedBecause: 'a test says so', reviewDueAt: null };
    await handle().db.insert(signingAccounts).values(halt);
    expect(await settle(deps(), submission, conclusionOfHalt('a test says so'))).toBe(true);
    await handle().db.update(signingAccounts).set({ haltedBecause: null });
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
  });
});

describe('the outcome of what was signed', () => {
  /** Lands a burn as an attempt of the submission. */
  async function landed(submissionId: string) {
    const burned = await burnOutside(4n);
    await sign(submissionId, burned);
    const outcome = await network().outcome(burned);
    if (outcome.status !== 'succeeded') throw new Error(`it is ${outcome.status}`);
    return { kind: 'succeeded', attemptHash: burned.hash, landed: outcome } as const;
  }

  it('is written by one of two who know it; the other finds it settled', async () => {
    const { submission, submissionId } = await pendingRetirement(4n);
    const refusal = { reason: 'PAUSED', message: 'paused' } as const;
    const conclusion: Conclusion = { kind: 'refused', attemptHash: null, refusal };
    let second: Promise<boolean> | undefined;
    const crashPoint = async (point: string) => {
      if (point !== 'settlement-uncommitted') return;
      second = settle(deps(), submission, conclusion);
      second.catch(() => {});
      await expect.poll(() => hasLockWait(handle())).toBe(true);
    };
    expect(await settle({ ...deps(), crashPoint }, submission, conclusion)).toBe(true);
    expect(await second).toBe(false);
    expect(await stateOf(submissionId)).toBe('REFUSED');
    expect(await balance()).toBe(1000n);
  });

  it('holds although another instance has sent it to review meanwhile', async () => {
    const { submission, submissionId } = await pendingRetirement(4n);
    const conclusion = await landed(submissionId);
    const { attemptHash } = conclusion;
    const reason = 'history is gone';
    await settle(deps(), submission, { kind: 'needsReview', attemptHash, cause: 'UNDETERMINABLE', reason });
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
    expect(await createStepStore(deps()).settle(submission, conclusion)).toBe(true);
    expect(await stateOf(submissionId)).toBe('SUCCEEDED');
  });

  it('is not written over a proof that it is dead', async () => {
    const { submission, submissionId } = await pendingRetirement(4n);
    const conclusion = await landed(submissionId);
    await decideAttempt(handle().db, conclusion.attemptHash, 'DEAD', 'a false proof', new Date());
    const error: unknown = await createStepStore(deps())
      .settle(submission, conclusion)
      .catch((caught: unknown) => caught);
    // The refusal is the error or its cause: statements sent together with the refused one also fail, and may
    // be reported first.
    expect(refusedByDatabase(error)?.message).toContain('is DEAD, which is final');
    expect(await stateOf(submissionId)).toBe('PENDING');
  });

  it('brings it to review although its target can’t be flagged', async () => {
    const { submission, submissionId } = await pendingRetirement(4n);
    const unflagged = withEffects(() => ({
      needsReview: async (tx) => void (await tx.execute(sql`SELECT 1 / 0`)),
    }));
    const cause = 'SETTLEMENT_FAILED';
    const conclusion = { kind: 'needsReview', attemptHash: null, cause, reason: 'it failed' } as const;
    expect(await settle(unflagged, submission, conclusion)).toBe(true);
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
  });

  it.each<[string, (string | null)[], boolean]>([
    ['is left to an operator after twenty attempts that died', Array.from({ length: 20 }, () => null), true],
    [
      'is left to an operator after three paid deaths of one cause',
      ['outOfGas', 'outOfGas', 'outOfGas'],
      true,
    ],
    ['is signed again after three paid deaths of two causes', ['outOfGas', 'badSeq', 'outOfGas'], false],
    ['is signed again after two paid deaths', ['outOfGas', 'outOfGas'], false],
  ])('%s', async (_, causes, isLeft) => {
    const { submission, submissionId } = await pendingRetirement(4n);
    const store = {
      ...createStepStore(deps()),
      readAttempts: async () => ({ open: [], lastNumber: causes.length }),
      readCauses: async () => causes,
    };
    await step(deps(), store, submission);
    const [row] = await handle().db.select().from(submissions).where(eq(submissions.id, submissionId));
    expect(row?.reviewCause).toBe(isLeft ? 'ATTEMPTS_DIED' : null);
    expect(row?.state).toBe(isLeft ? 'NEEDS_REVIEW' : 'SUCCEEDED');
  });
});

describe('a refusal by a network with sequences', () => {
  const address = `0x${'c'.repeat(40)}`;
  beforeEach(async () => {
    const values = { address, nextSequence: 7n, haltedBecause: null, reviewDueAt: null };
    await handle()
      .db.insert(signingAccounts)
      .values(values)
      .onConflictDoUpdate({ target: signingAccounts.address, set: values });
  });

  /** Steps a retirement whose draft is refused `times` times. */
  async function stepRefused(
    times: number,
    next: { sequence: bigint; afterRefusals: number },
    meanwhile: () => Promise<unknown> = async () => {},
  ) {
    const { submission } = await pendingRetirement(4n);
    let refusals = 0;
    const refusing: LedgerNetwork = {
      ...network(),
      signingOrder: { accounts: [address], maxOpenPerAccount: 4 },
      nextSequences: async () => new Map([[address, refusals < next.afterRefusals ? 7n : next.sequence]]),
      draft: async (call) => {
        if (refusals === times) return network().draft(call);
        refusals += 1;
        await meanwhile();
        throw new NetworkRefusal({ reason: 'INSUFFICIENT_BALANCE', message: 'it has less' });
      },
    };
    const on = { ...deps(), network: refusing };
    const result = await step(on, createStepStore(on), submission);
    return { result, state: await stateOf(submission.id) };
  }

  it('is outdated when it is not repeated once the sequences are known', async () => {
    const stepped = await stepRefused(1, { sequence: 7n, afterRefusals: 1 });
    expect(stepped).toEqual({ result: 'progress', state: 'PENDING' });
  });

  it('is not believed when signing was halted meanwhile', async () => {
    const halt = () =>
      handle()
        .db.update(signingAccounts)
        .set({ haltedBecause: 'a test says so', reviewDueAt: sql`now()` });
    const stepped = await stepRefused(2, { sequence: 7n, afterRefusals: 2 }, halt);
    expect(stepped).toEqual({ result: 'progress', state: 'PENDING' });
  });

  it('is final when it is repeated', async () => {
    const stepped = await stepRefused(2, { sequence: 7n, afterRefusals: 2 });
    expect(stepped).toEqual({ result: 'settled', state: 'REFUSED' });
  });

  it('is not final when a transaction that is not known may be what it was repeated for', async () => {
    const stepped = await stepRefused(2, { sequence: 8n, afterRefusals: 2 });
    expect(stepped).toEqual({ result: 'progress', state: 'PENDING' });
    const [account] = await handle().db.select().from(signingAccounts);
    expect(account?.haltedBecause).toContain('the network expects sequence 8');
  });
});

describe('a decision to give up, on a network with sequences', () => {
  it('waits for what was sent elsewhere to be final, and halts signing', async () => {
    const address = `0x${'c'.repeat(40)}`;
    const { submissionId } = await underReview('UNDETERMINABLE');
    const values = { address, nextSequence: 7n, haltedBecause: null, reviewDueAt: null };
    await handle()
      .db.insert(signingAccounts)
      .values(values)
      .onConflictDoUpdate({ target: signingAccounts.address, set: values });
    const elsewhere: LedgerNetwork = {
      ...network(),
      signingOrder: { accounts: [address], maxOpenPerAccount: 4 },
      nextSequences: async (at) => new Map([[address, at === 'final' ? 7n : 8n]]),
    };
    const giving = giveUpSubmission({ ...deps(), network: elsewhere }, submissionId);
    await expect(giving).rejects.toThrow('is not final yet');
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
    const [account] = await handle().db.select().from(signingAccounts);
    expect(account?.haltedBecause).toContain('the network expects sequence 8');
  });
});

describe('a settlement that fails while the database is away', () => {
  it.each([
    ['lost connections', () => new ConnectionLost('The connection to the database ended')],
    ['refused connections', () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })],
    ['no free connection', () => new NoFreeConnection('No connection became free in time')],
  ])('is tried again, however often: %s', async (_name, makeError) => {
    const { submissionId } = await pendingRetirement(4n);
    const [submission] = await handle().db.select().from(submissions).where(eq(submissions.id, submissionId));
    if (!submission) throw new Error('it has vanished');
    const broken = {
      ...deps(),
      db: Object.assign(Object.create(deps().db) as SubmissionDependencies['db'], {
        transaction: () => Promise.reject(makeError()),
      }),
    };
    const conclusion = {
      kind: 'succeeded',
      attemptHash: '0x1',
      landed: { ledger: 1n, result: { kind: 'retired', retirementIndex: 0 } },
    } as const;
    const store = createStepStore(broken);
    for (let i = 0; i < 7; i++) {
      await expect(settleOrReview(broken, store, submission, conclusion)).rejects.toThrow();
    }
    const [after] = await handle().db.select().from(submissions).where(eq(submissions.id, submissionId));
    expect(after).toMatchObject({ state: 'PENDING', failedSettlements: 0 });
  });
});
