/**
 * Several instances and an operator at once, around reviews: what one decides is never undone by what another found before.
 */
import { eq } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { ConnectionLost, NoFreeConnection } from '../../../src/db/connectionLost.ts';
import { signingAccounts, submissions } from '../../../src/db/tables/index.ts';
import { settleOrReview } from '../../../src/ledger/submission/settleOrReview.ts';
import { createStepStore } from '../../../src/ledger/submission/stepStore.ts';
import { insertAttempt } from '../../../src/ledger/submission/signAttempt.ts';
import {
  NetworkRefusal,
  type LedgerNetwork,
  type PreparedTransaction,
} from '../../../src/ledger/network/port.ts';
import { adoptOutcome, giveUpSubmission } from '../../../src/ledger/submission/review.ts';
import { settle } from '../../../src/ledger/submission/settle.ts';
import { step } from '../../../src/ledger/submission/step.ts';
import type { SubmissionDependencies } from '../../../src/ledger/submission/submission.ts';
import { reviewWorld } from '../../support/reviews.ts';

const { deps, handle, network, pendingRetirement, underReview, stateOf, balance, burnOutside } =
  reviewWorld();

/** All of `count` arrive before any goes on. */
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

/** Does `work` each time after the network was searched for a retirement. */
function afterSearch(work: () => Promise<void>): SubmissionDependencies {
  const { effects, ...rest } = deps();
  const of = effects.CUSTODY.RETIREMENT?.retire;
  if (!of) throw new Error('retirements have no effects');
  const findOnNetwork: typeof of.findOnNetwork = async (intent) => {
    const found = (await of.findOnNetwork?.(intent)) ?? null;
    await work();
    return found;
  };
  const retire = { ...of, findOnNetwork };
  return { ...rest, effects: { ...effects, CUSTODY: { ...effects.CUSTODY, RETIREMENT: { retire } } } };
}

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

  const sign = (submissionId: string, prepared: PreparedTransaction) =>
    handle().db.transaction((tx) => insertAttempt(tx, deps(), submissionId, prepared, null));

  it('is offered to none that was never signed, while one that was signed has no outcome that can be proved', async () => {
    const signed = await underReview('UNDETERMINABLE');
    const unsigned = await underReview('FOUND_ON_NETWORK');
    const burned = await burnOutside(4n);
    // It is of a history that the network does not have.
    await sign(signed.submissionId, { ...burned, hash: 'gone', preparedAtLedger: 10n ** 9n });
    await expect(adoptOutcome(deps(), unsigned.submissionId)).rejects.toThrow(
      'An equal burn is under way, or under review',
    );
    await adoptOutcome(deps(), signed.submissionId);
    await giveUpSubmission(deps(), unsigned.submissionId);
    expect(await balance()).toBe(996n);
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

describe('a refusal by a network with sequences', () => {
  const address = `0x${'c'.repeat(40)}`;
  beforeEach(async () => {
    const values = { address, nextSequence: 7n, haltedBecause: null, reviewDueAt: null };
    await handle()
      .db.insert(signingAccounts)
      .values(values)
      .onConflictDoUpdate({ target: signingAccounts.address, set: values });
  });

  /** Steps a retirement whose draft is refused as often as this. */
  async function stepRefused(times: number, next: { sequence: bigint; afterRefusals: number }) {
    const { submission } = await pendingRetirement(4n);
    let refusals = 0;
    const refusing: LedgerNetwork = {
      ...network(),
      signingOrder: { accounts: [address], maxOpenPerAccount: 4 },
      nextSequences: async () => new Map([[address, refusals < next.afterRefusals ? 7n : next.sequence]]),
      draft: async (call) => {
        if (refusals === times) return network().draft(call);
        refusals += 1;
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
