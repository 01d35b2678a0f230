/**
 * Submissions that go to an operator instead of being tried forever or executed twice: calls that the network
 * already shows, results that can't be written, and attempts that cost fees repeatedly.
 */
import { randomUUID } from 'node:crypto';
import { and, eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Platform } from '../../../src/startup/compose.ts';
import { attempts, operatorDecisions, retirements, submissions } from '../../../src/db/tables/index.ts';
import { decideHalt, decideSubmission, readReviewVersion } from '../../support/decisions.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import {
  resolveSubmissionReview,
  type SubmissionReviewDecision,
} from '../../../src/resolvers/operations/resolveSubmissionReview.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { changePastRules, createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { burnOutside } from '../../support/burnOutside.ts';
import { openProject, silentLog } from '../../../devnet/platform.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
/** Replaces the network's outcome of an attempt when a test sets it. */
let outcome: LedgerNetwork['outcome'] | null = null;
/** Whether the network accepts transactions and drops them. */
let isDeaf = false;
/** Runs while an operator's decision looks for a record's transaction. */
let duringLook = async () => {};
/** Whether the network lacks the logs of old transactions. */
let isForgetful = false;

beforeAll(async () => {
  database = await createTestDatabase();
  network = await embeddedNetworkOn(database.handle);
  const watched = {
    ...network,
    outcome: (sent: Parameters<LedgerNetwork['outcome']>[0]) => (outcome ?? network.outcome)(sent),
    retirementTransactions: async (...args: Parameters<LedgerNetwork['retirementTransactions']>) => {
      await duringLook();
      if (isForgetful) throw new NetworkUnavailable('pruned history unavailable');
      return network.retirementTransactions(...args);
    },
    broadcast: async (bytes: Uint8Array) =>
      isDeaf ? ({ status: 'accepted' } as const) : network.broadcast(bytes),
  };
  platform = await platformOn(database.handle, watched, { mutationWaitMs: 30_000 });
  await platform.start();
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

async function boughtProject(tonnes: bigint): Promise<TokenizedProject> {
  const project = await openProject(platform, tonnes);
  await purchase(platform.dependencies, 'acme', {
    buyerId: 'acme',
    tokenAddress: project.tokenAddress,
    amountCO2e: tonnes,
    idempotencyKey: randomUUID(),
  });
  return project;
}

const retireInput = ({ tokenAddress }: TokenizedProject, amountCO2e: bigint) => ({
  buyerId: 'acme',
  buyerName: 'Acme Ltd',
  tokenAddress,
  amountCO2e,
  note: 'flights',
  idempotencyKey: randomUUID(),
});

async function submissionOf(targetId: string) {
  const [submission] = await database.handle.db
    .select()
    .from(submissions)
    .where(and(eq(submissions.targetId, targetId), eq(submissions.kind, 'retire')));
  if (!submission) throw new Error(`retirement ${targetId} has no submission`);
  return submission;
}

const decide = async (retirementId: string, decision: SubmissionReviewDecision) =>
  decideSubmission(platform.dependencies, 'operator', {
    submissionId: (await submissionOf(retirementId)).id,
    decision,
    reason: 'looked at it',
  });

describe('a burn that the network shows already', () => {
  it('is not made a second time, by whatever key it was made', async () => {
    const project = await boughtProject(10n);
    await burnOutside(network, project, 4n);
    const retirement = await retire(platform.dependencies, 'acme', retireInput(project, 4n));
    expect(retirement).toMatchObject({ state: 'NEEDS_REVIEW' });
    expect(await submissionOf(retirement.id)).toMatchObject({ reviewCause: 'FOUND_ON_NETWORK' });
    expect(await network.carbonTotals(project.tokenAddress)).toMatchObject({ totalRetirements: 1 });
    expect(await decide(retirement.id, 'ADOPT')).toMatchObject({
      state: 'SUCCEEDED',
      txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    });
    // The submission no longer says why it was under review.
    const { id, reviewCause } = await submissionOf(retirement.id);
    expect(reviewCause).toBeNull();
    const decided = eq(operatorDecisions.submissionId, id);
    expect(await database.handle.db.select().from(operatorDecisions).where(decided)).toMatchObject([
      {
        decision: 'ADOPT',
        basis: expect.stringMatching(/^FOUND_ON_NETWORK after 0 attempts and 0 resumptions: ./) as string,
        approvalRequestId: null,
      },
    ]);
  });

  it('is adopted without its hash at a node that has not kept so much of its history', async () => {
    const project = await boughtProject(10n);
    await burnOutside(network, project, 4n);
    isForgetful = true;
    const retirement = await retire(platform.dependencies, 'acme', retireInput(project, 4n));
    expect(await submissionOf(retirement.id)).toMatchObject({ reviewCause: 'FOUND_ON_NETWORK' });
    expect(await decide(retirement.id, 'ADOPT')).toMatchObject({ state: 'SUCCEEDED', txHash: null });
    isForgetful = false;
  });

  it('returns no credits when the network refuses it for what was burned', async () => {
    const project = await boughtProject(4n);
    await burnOutside(network, project, 4n);
    const retirement = await retire(platform.dependencies, 'acme', retireInput(project, 4n));
    expect(retirement).toMatchObject({ state: 'NEEDS_REVIEW' });
    await expect(decide(retirement.id, 'GIVE_UP')).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { field: 'input.decision' },
    });
  });

  it('leaves those alone that are alike: each claims a record of its own', async () => {
    const project = await boughtProject(20n);
    const input = () => retireInput(project, 1n);
    const alike = await Promise.all(
      Array.from({ length: 20 }, () => retire(platform.dependencies, 'acme', input())),
    );
    expect(alike.map(({ state }) => state)).toEqual(Array.from({ length: 20 }, () => 'RETIRED'));
    const records = alike.map(({ recordIndex }) => recordIndex ?? -1).toSorted((a, b) => a - b);
    expect(records).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });
});

describe('a decision about an earlier review', () => {
  it('does not apply to a later one, which another operator has caused, though it has the same reason', async () => {
    const project = await boughtProject(10n);
    isDeaf = true;
    outcome = async () => ({ status: 'dead', proof: 'it landed without effect', cause: 'outOfMemory' });
    const retirement = await retire(platform.dependencies, 'acme', retireInput(project, 4n));
    const first = await submissionOf(retirement.id);
    const reviewVersion = await readReviewVersion(platform.dependencies, first.id);
    await decide(retirement.id, 'RESUME');
    const read = () => submissionOf(retirement.id);
    await expect.poll(read).toMatchObject({ state: 'NEEDS_REVIEW', resumptions: 1 });
    const later = await read();
    expect(later).toMatchObject({ reviewCause: first.reviewCause, stateReason: first.stateReason });
    for (const decision of ['GIVE_UP', 'RESUME', 'ADOPT'] as const) {
      const seen = { submissionId: first.id, decision, reviewVersion, reason: 'it is dead' };
      await expect(resolveSubmissionReview(platform.dependencies, 'other', seen)).rejects.toMatchObject({
        code: 'CONFLICT',
        details: { field: 'input.reviewVersion' },
      });
    }
    expect(await read()).toEqual(later);
    const decided = eq(operatorDecisions.submissionId, first.id);
    expect(await database.handle.db.select().from(operatorDecisions).where(decided)).toMatchObject([
      { decision: 'RESUME', decidedBy: 'operator' },
    ]);
    expect(await decide(retirement.id, 'GIVE_UP')).toMatchObject({ state: 'REFUSED' });
    outcome = null;
    isDeaf = false;
  });

  it('does not apply to what is found while the network is asked about it', async () => {
    const project = await boughtProject(10n);
    await burnOutside(network, project, 4n);
    const retirement = await retire(platform.dependencies, 'acme', retireInput(project, 4n));
    const { id } = await submissionOf(retirement.id);
    duringLook = async () => {
      duringLook = async () => {};
      const isIt = eq(submissions.id, id);
      await database.handle.db.update(submissions).set({ stateReason: 'another finding' }).where(isIt);
    };
    await expect(decide(retirement.id, 'ADOPT')).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { field: 'input.reviewVersion' },
    });
    expect(await submissionOf(retirement.id)).toMatchObject({ state: 'NEEDS_REVIEW' });
    expect(await decide(retirement.id, 'ADOPT')).toMatchObject({ state: 'SUCCEEDED' });
  });
});

describe('a decision that is refused', () => {
  it('leaves no line in the log that it was made', async () => {
    const retirement = await retire(platform.dependencies, 'acme', retireInput(await boughtProject(4n), 4n));
    const { id: submissionId } = await submissionOf(retirement.id);
    const lines: string[] = [];
    const note = (_: unknown, message: string) => void lines.push(message);
    const log = Object.assign(Object.create(silentLog) as typeof silentLog, { info: note, warn: note });
    const deps = { ...platform.dependencies, log };
    const decision = { submissionId, decision: 'GIVE_UP', reason: 'looked at it' } as const;
    const conflict = { code: 'CONFLICT' };
    await expect(decideSubmission(deps, 'operator', decision)).rejects.toMatchObject(conflict);
    await expect(decideHalt(deps, 'operator', { reason: 'looked' })).rejects.toMatchObject(conflict);
    expect(lines).toEqual([]);
    expect(
      await database.handle.db.$count(operatorDecisions, eq(operatorDecisions.submissionId, submissionId)),
    ).toBe(0);
  });
});

describe('a settlement that always fails', () => {
  it('goes to review, gives its slot back, and settles when an operator has fixed what was wrong', async () => {
    const project = await boughtProject(10n);
    const { db } = database.handle;
    // Another retirement claims the record that this one will get.
    const [other] = await db
      .insert(retirements)
      .values({
        id: randomUUID(),
        projectId: project.id,
        buyerId: 'acme',
        beneficiary: 'Another beneficiary',
        note: '',
        amountTonnes: 1n,
        state: 'RETIRED',
        recordIndex: 0,
        createdAt: new Date(),
        settledAt: new Date(),
      })
      .returning();
    const retirement = await retire(platform.dependencies, 'acme', retireInput(project, 4n));
    expect(retirement).toMatchObject({ state: 'NEEDS_REVIEW' });
    expect(await submissionOf(retirement.id)).toMatchObject({ reviewCause: 'SETTLEMENT_FAILED' });
    await changePastRules(database, sql`DELETE FROM ${retirements} WHERE id = ${other?.id}`);
    await decide(retirement.id, 'RESUME');
    await expect.poll(async () => (await submissionOf(retirement.id)).state).toBe('SUCCEEDED');
    // Failures before the decision no longer count.
    expect(await submissionOf(retirement.id)).toMatchObject({ failedSettlements: 0 });
    expect(await network.carbonTotals(project.tokenAddress)).toMatchObject({ totalRetirements: 1 });
  });
});

describe('what lands without effect and is paid for', () => {
  it('goes to review after three times of the same cause, and is signed again when an operator says so', async () => {
    const project = await boughtProject(10n);
    isDeaf = true;
    outcome = async () => ({
      status: 'dead',
      proof: 'it landed without effect',
      cause: 'resourceLimitExceeded',
    });
    const retirement = await retire(platform.dependencies, 'acme', retireInput(project, 4n));
    expect(retirement).toMatchObject({ state: 'NEEDS_REVIEW' });
    const { id, reviewCause, stateReason } = await submissionOf(retirement.id);
    expect(reviewCause).toBe('ATTEMPTS_DIED');
    expect(stateReason).toContain('resourceLimitExceeded');
    expect(await database.handle.db.$count(attempts, eq(attempts.submissionId, id))).toBe(3);
    outcome = null;
    isDeaf = false;
    await decide(retirement.id, 'RESUME');
    await expect.poll(async () => (await submissionOf(retirement.id)).state).toBe('SUCCEEDED');
  });
});

describe('what a submission is for', () => {
  it('is fixed in the database, so that its outcome never counts for something else', async () => {
    const project = await boughtProject(10n);
    await burnOutside(network, project, 3n);
    const retirement = await retire(platform.dependencies, 'acme', retireInput(project, 3n));
    const { id, state, targetType } = await submissionOf(retirement.id);
    expect({ state, targetType }).toEqual({ state: 'NEEDS_REVIEW', targetType: 'RETIREMENT' });
    const change = database.handle.sql`UPDATE submissions SET target_type = 'PROJECT' WHERE id = ${id}`;
    await expect(change).rejects.toThrow(`target_type of submissions ${id} is fixed`);
  });
});
