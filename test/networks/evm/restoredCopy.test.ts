/**
 * A database restored from an old copy, on an EVM chain: burns since the copy are never burned again, their
 * credits never come back, and an operator brings books and network to agreement, one submission at a time.
 */
import { eq } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { projects, retirements, submissions, transparencyHeads } from '../../../src/db/tables/index.ts';
import { readHalt } from '../../../src/ledger/submission/halts.ts';
import { createProject } from '../../../src/resolvers/carbon/createProject.ts';
import { findProjectById } from '../../../src/resolvers/carbon/findProject.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { listBalances } from '../../../src/resolvers/carbon/readBuyerAccount.ts';
import { parseCheckpoint, type SignedNote } from '../../../src/transparency/checkpoint.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { openProject, projectInput } from '../../../devnet/platform.ts';
import { decideHalt, decideSubmission } from '../../support/decisions.ts';
import { decideReview, instancesOn, type Instance } from '../../support/onInstance.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { holding, retirement } from '../../support/holding.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';

let world: EvmWorld;
beforeAll(async () => {
  world = await startEvmWorld();
});
afterAll(() => world.close());

let original: TestDatabase;
let copy: TestDatabase;
beforeEach(async () => {
  original = await createTestDatabase();
  await original.handle.close();
});
afterEach(async () => {
  await original.drop();
  await copy.drop();
});

const onInstance = instancesOn(() => world);

const requestOn = (url: string, input: ReturnType<typeof retirement>, options?: { starts: boolean }) =>
  onInstance(url, ({ dependencies }) => retire(dependencies, 'acme', input), options);

/** Makes the copy when the buyer holds 100 of 100 tonnes; then the original burns all of them. */
async function burnAllAfterCopy(): Promise<ReturnType<typeof retirement>> {
  const tokenAddress = await onInstance(original.url, (platform) => holding(platform, 100n));
  copy = await createTestDatabase({ copyOf: original });
  await copy.handle.close();
  const input = retirement(tokenAddress, 100n);
  expect(await requestOn(original.url, input)).toMatchObject({ state: 'RETIRED' });
  return input;
}

async function underReview({ handle }: Instance) {
  return handle.db.select().from(submissions).where(eq(submissions.state, 'NEEDS_REVIEW'));
}

/** Expects that credits are still held, nothing was burned twice, and signing is halted. */
async function expectHeld(instance: Instance, tokenAddress: string, burned: bigint): Promise<void> {
  const { dependencies, handle } = instance;
  await expect.poll(() => readHalt(handle.db)).toMatch(/the database is an old copy/);
  await expect.poll(async () => (await underReview(instance)).length).toBe(1);
  expect(await underReview(instance)).toMatchObject([{ reviewCause: 'SIGNING_HALTED' }]);
  expect(await handle.db.select().from(retirements)).toMatchObject([{ state: 'NEEDS_REVIEW' }]);
  const [account] = await listBalances(dependencies, 'acme').list({ limit: 10, inverted: false });
  expect(account).toMatchObject({ tokenAddress, balanceTonnes: 100n - burned });
  const totals = await dependencies.network.carbonTotals(tokenAddress);
  expect(totals).toMatchObject({ totalRetirements: 1 });
}

describe('a copy whose buyer has burned everything since', () => {
  it('halts on the same request, and returns no credits', async () => {
    const input = await burnAllAfterCopy();
    await onInstance(copy.url, async (instance) => {
      expect(await retire(instance.dependencies, 'acme', input)).not.toMatchObject({ state: 'REFUSED' });
      await expectHeld(instance, input.tokenAddress, 100n);
    });
  });

  it('halts on a retirement that was committed and not signed when the copy was made', async () => {
    const tokenAddress = await onInstance(original.url, (platform) => holding(platform, 100n));
    const input = retirement(tokenAddress, 100n);
    await requestOn(original.url, input, { starts: false });
    copy = await createTestDatabase({ copyOf: original });
    await copy.handle.close();
    expect(await requestOn(original.url, input)).toMatchObject({ state: 'RETIRED' });
    await onInstance(copy.url, (instance) => expectHeld(instance, tokenAddress, 100n));
  });

  it('halts although the token is paused, which is what the simulation refuses', async () => {
    const tokenAddress = await onInstance(original.url, (platform) => holding(platform, 100n));
    copy = await createTestDatabase({ copyOf: original });
    await copy.handle.close();
    const input = retirement(tokenAddress, 30n);
    expect(await requestOn(original.url, input)).toMatchObject({ state: 'RETIRED' });
    await world.setPaused(tokenAddress, true);
    await onInstance(copy.url, async (instance) => {
      await retire(instance.dependencies, 'acme', input);
      await expectHeld(instance, tokenAddress, 30n);
    });
  });

  it("halts on another project's token, whose refusal has nothing to do with what was lost", async () => {
    const { lost, other } = await onInstance(original.url, async (platform) => ({
      lost: await holding(platform, 100n),
      other: await holding(platform, 50n),
    }));
    copy = await createTestDatabase({ copyOf: original });
    await copy.handle.close();
    await requestOn(original.url, retirement(lost, 100n));
    await world.setPaused(other, true);
    await onInstance(copy.url, async (instance) => {
      const answer = await retire(instance.dependencies, 'acme', retirement(other, 5n));
      expect(answer).not.toMatchObject({ state: 'REFUSED' });
      await expect.poll(() => readHalt(instance.handle.db)).toMatch(/the database is an old copy/);
    });
  });
});

it('does not go on by itself while custody has a token of which it knows no project', async () => {
  const tokenAddress = await onInstance(original.url, (platform) => holding(platform, 100n));
  copy = await createTestDatabase({ copyOf: original });
  await copy.handle.close();
  const facts = projectInput({ quantityCO2e: 5n });
  const lost = await onInstance(original.url, ({ dependencies }) =>
    createProject(dependencies, 'dev', facts),
  );
  await onInstance(copy.url, async (instance) => {
    const { handle } = instance;
    const dependencies = { ...instance.dependencies, mutationWaitMs: 0 };
    await retire(dependencies, 'acme', retirement(tokenAddress, 1n));
    await expect.poll(() => readHalt(handle.db)).toMatch(/the database is an old copy/);
    // Books and network agree on everything that the copy knows.
    expect((await reconcileAll(dependencies)).findings).toEqual([]);
    expect(await dependencies.submission.reconcile()).toEqual([
      expect.stringContaining(`the token ${lost.tokenAddress}`),
    ]);

    const again = await createProject(dependencies, 'dev', facts);
    for (const kind of ['deployCarbonCredit', 'mint']) await adopt(instance, kind);
    expect(await findProjectById(dependencies, again.id)).toMatchObject({
      state: 'OPEN',
      tokenAddress: lost.tokenAddress,
    });
    expect(await dependencies.submission.reconcile()).toEqual([]);
  });
});

/** Adopts a submission once it is under review, among others. */
async function adopt(instance: Instance, kind: string): Promise<void> {
  const find = async () => (await underReview(instance)).find((submission) => submission.kind === kind);
  await expect.poll(find).toBeDefined();
  const input = { submissionId: (await find())?.id ?? '', decision: 'ADOPT', reason: 'found' } as const;
  await decideSubmission(instance.dependencies, 'operator', input);
}

describe('the way out of a halt', () => {
  it('takes the record on the network as the outcome, and then books and network agree', async () => {
    const input = await burnAllAfterCopy();
    await onInstance(copy.url, async (instance) => {
      const { dependencies, handle } = instance;
      await retire(dependencies, 'acme', input);
      await expectHeld(instance, input.tokenAddress, 100n);
      await expect(decideReview(instance, 'GIVE_UP')).rejects.toMatchObject({ code: 'CONFLICT' });
      await expect(decideReview(instance, 'RESUME')).rejects.toMatchObject({ code: 'CONFLICT' });
      await expect(decideReview(instance, 'ADOPT', 7)).rejects.toMatchObject({ code: 'CONFLICT' });
      await decideReview(instance, 'ADOPT', 0);
      expect(await handle.db.select().from(retirements)).toMatchObject([
        { state: 'RETIRED', recordIndex: 0 },
      ]);
      expect(await reconcileAll({ ...dependencies, isStill: true })).toMatchObject({ findings: [] });
      // The same request again returns the adopted outcome.
      expect(await retire(dependencies, 'acme', input)).toMatchObject({ state: 'RETIRED', recordIndex: 0 });
    });
  });

  it('signs nothing unexamined when an operator resumes, and offers what the network shows', async () => {
    const input = await burnAllAfterCopy();
    await onInstance(copy.url, async (instance) => {
      const { dependencies, handle } = instance;
      await retire(dependencies, 'acme', input);
      await expectHeld(instance, input.tokenAddress, 100n);
      await decideHalt(dependencies, 'operator', { reason: 'the copy is all there is' });
      expect(await readHalt(handle.db)).toBeNull();
      // Another project's work goes on at once.
      const next = await holding(instance, 10n);
      expect(await retire(dependencies, 'acme', retirement(next, 4n))).toMatchObject({ state: 'RETIRED' });
      await expect(decideReview(instance, 'RESUME')).rejects.toMatchObject({ code: 'CONFLICT' });
      await decideReview(instance, 'ADOPT');
      expect(await dependencies.network.carbonTotals(input.tokenAddress)).toMatchObject({
        totalRetirements: 1,
      });
      expect(await reconcileAll({ ...dependencies, isStill: true })).toMatchObject({ findings: [] });
    });
  });

  it('finds a burn again that is asked for only after signing was resumed', async () => {
    const input = await burnAllAfterCopy();
    await onInstance(copy.url, async (instance) => {
      const { dependencies, handle } = instance;
      // Another project makes signing halt.
      const other = await openProject(instance, 10n).catch((error: unknown) => error);
      expect(other).toBeInstanceOf(Error);
      // A worker halts signing before it puts its submissions under review. An operator who acts between the
      // two has nothing to decide.
      await expect.poll(() => underReview(instance)).toMatchObject([{ reviewCause: 'SIGNING_HALTED' }]);
      await decideHalt(dependencies, 'operator', { reason: 'all is examined' });
      await decideReview(instance, 'RESUME');
      await retire(dependencies, 'acme', input);
      await expect.poll(() => underReview(instance)).toMatchObject([{ reviewCause: 'FOUND_ON_NETWORK' }]);
      await decideReview(instance, 'ADOPT', 0);
      // The other project's issue goes on since RESUME, and books and network agree only after it.
      const states = async () => (await handle.db.select().from(projects)).map(({ state }) => state);
      await expect.poll(states).toEqual(['OPEN', 'OPEN']);
      expect(await reconcileAll({ ...dependencies, isStill: true })).toMatchObject({ findings: [] });
    });
  });

  it('begins logs of another name, which contradict no checkpoint that was published', async () => {
    const heads = async ({ dependencies, handle }: Instance) => {
      await logAll(dependencies.logs);
      const rows = await handle.db.select().from(transparencyHeads);
      return rows.flatMap(({ checkpoint }) => parseCheckpoint(checkpoint) ?? []);
    };
    const contradictions = async ({ dependencies }: Instance, keptCheckpoints: SignedNote[]) => {
      const { findings } = await reconcileAll({ ...dependencies, keptCheckpoints });
      return findings.filter(({ invariant }) => invariant === 'I15').map(({ message }) => message);
    };
    const tokenAddress = await onInstance(original.url, (platform) => holding(platform, 100n));
    const before = await onInstance(original.url, heads, { starts: false });
    copy = await createTestDatabase({ copyOf: original });
    await copy.handle.close();
    const input = retirement(tokenAddress, 100n);
    await requestOn(original.url, input);
    const lost = await onInstance(original.url, heads, { starts: false });

    // As docs/operations.md says: first the new name, then one instance.
    const transparencyLogOrigin = 'api.example/logs-2';
    await onInstance(
      copy.url,
      async (instance) => {
        await retire(instance.dependencies, 'acme', input);
        await expectHeld(instance, tokenAddress, 100n);
        // The checkpoints published since the backup show how much is missing.
        expect(await contradictions(instance, lost)).toContainEqual(
          expect.stringMatching(/transfers has 4 leaves, and the log 3/),
        );
        await decideReview(instance, 'ADOPT', 0);
        const now = await heads(instance);
        expect(now.map(({ origin }) => origin).toSorted()).toEqual(
          ['audit', 'retirements', 'transfers'].map((log) => `${transparencyLogOrigin}/${log}`),
        );
        // The history up to the backup is the same under either name, and everything agrees.
        expect(await contradictions(instance, [...before, ...now])).toEqual([]);
        expect((await reconcileAll({ ...instance.dependencies, isStill: true })).findings).toEqual([]);
      },
      { transparencyLogOrigin },
    );
  });
});
