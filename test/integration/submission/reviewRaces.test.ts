/**
 * Several instances and an operator at once, around reviews and the end of a halt: what one decides is never undone by
 * what another found before.
 */
import { randomUUID } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ConnectionLost } from '../../../src/db/connectionLost.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { signingAccounts, submissions } from '../../../src/db/tables/index.ts';
import { settleOrReview } from '../../../src/ledger/submission/settleOrReview.ts';
import { createStepStore } from '../../../src/ledger/submission/stepStore.ts';
import { resumeSigning, reviewHaltedSigning } from '../../../src/ledger/submission/haltedSigning.ts';
import { adoptOutcome, giveUpSubmission } from '../../../src/ledger/submission/review.ts';
import { settle, type ReviewCause } from '../../../src/ledger/submission/settle.ts';
import type { SubmissionDependencies } from '../../../src/ledger/submission/submission.ts';
import type { EmbeddedNetwork } from '../../../src/ledger/network/embedded/network.ts';
import type { LedgerNetwork, NetworkCall } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { DomainError } from '../../../src/lib/errors.ts';
import { listBalances } from '../../../src/resolvers/carbon/readBuyerAccount.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';
import { openProject } from '../../../devnet/platform.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
/** Its worker does not run: each test takes the steps itself. */
let platform: Platform;
let project: TokenizedProject;

beforeAll(async () => {
  database = await createTestDatabase();
  network = await embeddedNetworkOn(database.handle);
  platform = await platformOn(database.handle, network, { mutationWaitMs: 0 });
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});
beforeEach(async () => {
  const other = await platformOn(database.handle, network);
  await other.start();
  project = await openProject(other, 1000n);
  await other.stop();
  await purchase(platform.dependencies, 'acme', {
    buyerId: 'acme',
    tokenAddress: project.tokenAddress,
    amountCO2e: 1000n,
    idempotencyKey: randomUUID(),
  });
});

const deps = () => platform.dependencies.submission;

async function pendingRetirement(amountCO2e: bigint) {
  const { id } = await retire(platform.dependencies, 'acme', {
    buyerId: 'acme',
    buyerName: 'Acme Ltd',
    tokenAddress: project.tokenAddress,
    amountCO2e,
    note: 'flights',
    idempotencyKey: randomUUID(),
  });
  const [submission] = await database.handle.db
    .select()
    .from(submissions)
    .where(eq(submissions.targetId, id));
  if (!submission) throw new Error(`retirement ${id} has no submission`);
  return { id, submission, submissionId: submission.id };
}

async function underReview(cause: ReviewCause, amountCO2e = 4n) {
  const retirement = await pendingRetirement(amountCO2e);
  const conclusion = { kind: 'needsReview', attemptHash: null, cause, reason: 'a test says so' } as const;
  expect(await settle(deps(), retirement.submission, conclusion)).toBe(true);
  return retirement;
}

async function stateOf(submissionId: string) {
  const [row] = await database.handle.db.select().from(submissions).where(eq(submissions.id, submissionId));
  return row?.state;
}

async function balance(): Promise<bigint | undefined> {
  const balances = await listBalances(platform.dependencies, 'acme', { limit: 100, inverted: false });
  return balances.find(({ tokenAddress }) => tokenAddress === project.tokenAddress)?.balanceTonnes;
}

/** By custody's own key, and unknown to the platform. */
async function burnOutside(tonnes: bigint): Promise<void> {
  const call: NetworkCall = {
    kind: 'retire',
    tokenAddress: project.tokenAddress,
    amount: toBaseUnits(tonnes),
    beneficiary: 'Acme Ltd',
    note: 'flights',
  };
  const prepared = await (await network.draft(call)).sign(null);
  await network.broadcast(prepared.signedBytes);
  await expect.poll(async () => (await network.outcome(prepared)).status).toBe('succeeded');
}

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
    await giveUpSubmission(deps(), other, 'it was never burned');
    expect(await stateOf(other)).toBe('REFUSED');
    expect(await balance()).toBe(996n);
  });
});

describe('what an instance found before another one sent the submission to review', () => {
  it.each([
    ['a refusal', { kind: 'refused', attemptHash: null, refusal: { reason: 'PAUSED', message: 'paused' } }],
    ['a halt', { kind: 'needsReview', attemptHash: null, cause: 'SIGNING_HALTED', reason: 'halted' }],
  ] as const)('is outdated: %s', async (_name, conclusion) => {
    const { submission, submissionId } = await underReview('FOUND_ON_NETWORK');
    expect(await settle(deps(), submission, conclusion)).toBe(false);
    const [row] = await database.handle.db.select().from(submissions).where(eq(submissions.id, submissionId));
    expect(row).toMatchObject({ state: 'NEEDS_REVIEW', reviewCause: 'FOUND_ON_NETWORK' });
    expect(await balance()).toBe(996n);
  });
});

describe('the end of a halt', () => {
  const address = `0x${'c'.repeat(40)}`;
  /** One account that signs with numbers, all of whose history is known and final. */
  const numbered = (): LedgerNetwork => ({
    ...network,
    signingOrder: { accounts: [address], maxOpenPerAccount: 4 },
    nextSequences: async () => new Map([[address, 7n]]),
  });
  const reviewing = (): SubmissionDependencies => ({
    ...deps(),
    network: numbered(),
    reconcile: async () => [],
  });

  beforeEach(async () => {
    const values = { address, nextSequence: 7n, haltedBecause: 'a test says so', reviewDueAt: sql`now()` };
    await database.handle.db
      .insert(signingAccounts)
      .values(values)
      .onConflictDoUpdate({ target: signingAccounts.address, set: values });
    await database.handle.db
      .update(submissions)
      .set({ reviewCause: 'UNDETERMINABLE' })
      .where(eq(submissions.reviewCause, 'SIGNING_HALTED'));
  });

  it('passes over what an operator decides at this moment, and resumes the rest', async () => {
    const all = [await underReview('SIGNING_HALTED'), await underReview('SIGNING_HALTED', 5n)];
    const [first, second] = all.map(({ submissionId }) => submissionId);
    let decided: Promise<void> | undefined;
    // The decision holds the first one's row when the review comes to it.
    const operator = giveUpSubmission(
      {
        ...deps(),
        checkpoint: async (point) => {
          if (point !== 'settlement-uncommitted') return;
          decided = reviewHaltedSigning(reviewing());
          await expect
            .poll(
              async () => (await hasLockWait(database.handle)) || (await stateOf(second ?? '')) === 'PENDING',
            )
            .toBe(true);
        },
      },
      first ?? '',
      'the client took it back',
    );
    await operator;
    await decided;
    expect(await stateOf(first ?? '')).toBe('REFUSED');
    expect(await stateOf(second ?? '')).toBe('PENDING');
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
    const [account] = await database.handle.db.select().from(signingAccounts);
    expect(account?.haltedBecause).toBeNull();
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
    // Half a minute later.
    await database.handle.db.update(signingAccounts).set({ reviewDueAt: sql`now()` });
    await reviewHaltedSigning(reviewing());
    expect(await stateOf(submissionId)).toBe('PENDING');
  });

  it('leaves nothing under review that an instance found halted before it ended', async () => {
    const { submission, submissionId } = await pendingRetirement(4n);
    await reviewHaltedSigning(reviewing());
    // The step of another instance read the halt before, and says so only now.
    const conclusion = {
      kind: 'needsReview',
      attemptHash: null,
      cause: 'SIGNING_HALTED',
      reason: 'halted',
    } as const;
    expect(await settle(deps(), submission, conclusion)).toBe(false);
    expect(await stateOf(submissionId)).toBe('PENDING');
  });

  it('waits for an instance that puts a submission under review, and resumes that too', async () => {
    const { submission, submissionId } = await pendingRetirement(4n);
    let ended: Promise<void> | undefined;
    const conclusion = {
      kind: 'needsReview',
      attemptHash: null,
      cause: 'SIGNING_HALTED',
      reason: 'halted',
    } as const;
    const checkpoint = async (point: string) => {
      if (point !== 'settlement-uncommitted') return;
      ended = reviewHaltedSigning(reviewing());
      await expect.poll(() => hasLockWait(database.handle)).toBe(true);
    };
    expect(await settle({ ...deps(), checkpoint }, submission, conclusion)).toBe(true);
    await ended;
    expect(await stateOf(submissionId)).toBe('PENDING');
  });

  it('lets an operator decide alone what is under review when the operator ends it', async () => {
    const { submissionId } = await underReview('SIGNING_HALTED');
    await resumeSigning(reviewing());
    await reviewHaltedSigning(reviewing());
    expect(await stateOf(submissionId)).toBe('NEEDS_REVIEW');
  });

  it('leaves to the operator what an earlier halt left undecided, also when a later one is proved harmless', async () => {
    const left = await underReview('SIGNING_HALTED');
    await resumeSigning(reviewing());
    await database.handle.db
      .update(signingAccounts)
      .set({ haltedBecause: 'another reason', reviewDueAt: sql`now()` });
    const later = await underReview('SIGNING_HALTED', 5n);
    await reviewHaltedSigning(reviewing());
    expect(await stateOf(later.submissionId)).toBe('PENDING');
    expect(await stateOf(left.submissionId)).toBe('NEEDS_REVIEW');
  });
});

describe('a settlement that fails while the database is away', () => {
  it.each([
    ['lost connections', () => new ConnectionLost('The connection to the database ended')],
    ['refused connections', () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })],
    ['no free connection', () => new DomainError('OVERLOADED', 'No connection became free in time')],
  ])('is tried again, however often: %s', async (_name, makeError) => {
    const { submissionId } = await pendingRetirement(4n);
    const [submission] = await database.handle.db
      .select()
      .from(submissions)
      .where(eq(submissions.id, submissionId));
    if (!submission) throw new Error('it has vanished');
    const broken = {
      ...deps(),
      db: Object.assign(Object.create(deps().db) as typeof platform.dependencies.db, {
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
    const [after] = await database.handle.db
      .select()
      .from(submissions)
      .where(eq(submissions.id, submissionId));
    expect(after).toMatchObject({ state: 'PENDING', failedSettlements: 0 });
  });
});
