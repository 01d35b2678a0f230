/**
 * The carbon sagas on the embedded network: how they end when the network refuses, loses answers, or the same
 * request comes again.
 */
import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { attempts, projects, submissions } from '../../../src/db/tables/index.ts';
import { readProjectBalances } from '../../../src/ledger/books/readBalances.ts';
import { decideSubmission } from '../../support/decisions.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { awaitState } from '../../../src/resolvers/core/awaitState.ts';
import { createProject } from '../../../src/resolvers/carbon/createProject.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { findRetirement } from '../../../src/resolvers/carbon/findRetirement.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { readAllRecords, readRegistry } from '../../../src/resolvers/carbon/readRegistry.ts';
import { readDecisions } from '../../../src/resolvers/operations/operatorDecisions.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import type { FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';
import { openProject, projectInput } from '../../../devnet/platform.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let faults: FaultPlan = () => null;

beforeAll(async () => {
  ({ database, network, platform } = await startFaultyPlatform((method, n) => faults(method, n)));
});
afterAll(async () => {
  faults = () => null;
  const report = await reconcileAll(platform.dependencies);
  await platform.stop();
  await database.drop();
  expect(report.findings).toEqual([]);
});

const buyerId = 'acme';

async function boughtProject(tonnes: bigint): Promise<TokenizedProject> {
  const project = await openProject(platform, tonnes);
  await purchase(platform.dependencies, buyerId, {
    buyerId,
    tokenAddress: project.tokenAddress,
    amountCO2e: tonnes,
    idempotencyKey: randomUUID(),
  });
  return project;
}

const retireInput = (
  project: TokenizedProject,
  amountCO2e: bigint,
  idempotencyKey: string = randomUUID(),
) => ({
  buyerId,
  buyerName: 'Acme Ltd',
  tokenAddress: project.tokenAddress,
  amountCO2e,
  note: 'scope 2, 2025',
  idempotencyKey,
});

/** Letters, digits and hyphens as Chinese and Japanese keyboards write them. */
const inFullWidth = (text: string) =>
  text.replaceAll(/[!-~]/g, (character) => String.fromCodePoint((character.codePointAt(0) ?? 0) + 0xfee0));

async function balancesOf(project: TokenizedProject) {
  const balances = await readProjectBalances(database.handle, [project.id]);
  return balances.get(project.id);
}

describe('createProject', () => {
  it('deploys, mints into custody and opens the inventory', async () => {
    const project = await openProject(platform, 1000n);
    expect(await network.totalSupply(project.tokenAddress)).toBe(toBaseUnits(1000n));
    expect(await network.balanceOf(project.tokenAddress, network.custodyAddress)).toBe(toBaseUnits(1000n));
    expect(await balancesOf(project)).toMatchObject({ issued: 1000n, inventory: 1000n });
  });

  it('answers the same request with the same project, under the same key and under another', async () => {
    const input = projectInput();
    const first = await createProject(platform.dependencies, 'developer', input);
    const again = await createProject(platform.dependencies, 'developer', input);
    const otherKey = { ...input, idempotencyKey: randomUUID() };
    const once = await createProject(platform.dependencies, 'developer', otherKey);
    expect([again.id, once.id]).toEqual([first.id, first.id]);
  });

  it('refuses the same credits with other facts, in any spelling, and by another developer', async () => {
    const input = projectInput({ verificationBodyRef: `Vcs-${randomUUID()}` });
    await createProject(platform.dependencies, 'developer', input);
    const other = { ...input, quantityCO2e: 5n, idempotencyKey: randomUUID() };
    const spelt = {
      ...input,
      verificationBodyRef: inFullWidth(input.verificationBodyRef.toUpperCase()),
      idempotencyKey: randomUUID(),
    };
    await expect(createProject(platform.dependencies, 'developer', other)).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    await expect(createProject(platform.dependencies, 'developer', spelt)).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    await expect(
      createProject(platform.dependencies, 'stranger', { ...input, idempotencyKey: randomUUID() }),
    ).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(
      createProject(platform.dependencies, 'developer', { ...input, quantityCO2e: 5n }),
    ).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
  });

  it('issues once when ten requests race', async () => {
    const input = projectInput();
    const projects = await Promise.all(
      Array.from({ length: 10 }, () =>
        createProject(platform.dependencies, 'developer', { ...input, idempotencyKey: randomUUID() }),
      ),
    );
    expect(new Set(projects.map((project) => project.id)).size).toBe(1);
    expect(await network.totalSupply(projects[0]?.tokenAddress ?? '')).toBe(toBaseUnits(1000n));
  });

  it('says why the network refused the token', async () => {
    faults = (method) => (method === 'draft' ? 'refused' : null);
    await expect(createProject(platform.dependencies, 'developer', projectInput())).rejects.toMatchObject({
      code: 'LEDGER_REFUSED',
      details: { reason: 'OTHER' },
    });
    faults = () => null;
  });

  it('mints once when the answers of deploy and mint are lost', async () => {
    let lost = 0;
    faults = (method) => (method === 'broadcast' && lost++ < 2 ? 'answer-lost' : null);
    const project = await openProject(platform, 70n);
    faults = () => null;
    expect(lost).toBeGreaterThanOrEqual(2);
    expect(await network.totalSupply(project.tokenAddress)).toBe(toBaseUnits(70n));
  });
});

describe('retire', () => {
  it('burns what was held and writes the public record', async () => {
    const project = await boughtProject(100n);
    const retirement = await retire(platform.dependencies, buyerId, retireInput(project, 30n));
    expect(retirement).toMatchObject({ state: 'RETIRED', recordIndex: 0 });
    expect(await balancesOf(project)).toMatchObject({ heldByBuyers: 70n, retiring: 0n, retired: 30n });
    const registry = await readRegistry(platform.dependencies, project.tokenAddress, 'test');
    if (registry === null) throw new Error('the project has no registry');
    expect(registry.totals.totalRetired).toBe(toBaseUnits(30n));
    expect(await readAllRecords(platform.dependencies, registry)).toMatchObject([
      { index: 0, beneficiary: 'Acme Ltd', note: 'scope 2, 2025', txHash: retirement.txHash },
    ]);
  });

  it('burns once for one key, however often it is sent', async () => {
    const project = await boughtProject(100n);
    const key = randomUUID();
    const results = await Promise.all(
      Array.from({ length: 8 }, () => retire(platform.dependencies, buyerId, retireInput(project, 10n, key))),
    );
    expect(new Set(results.map((r) => r.txHash)).size).toBe(1);
    expect(await network.carbonTotals(project.tokenAddress)).toMatchObject({ totalRetirements: 1 });
    await expect(
      retire(platform.dependencies, buyerId, retireInput(project, 11n, key)),
    ).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
  });

  it('does not burn what the buyer does not hold', async () => {
    const project = await boughtProject(10n);
    await expect(retire(platform.dependencies, buyerId, retireInput(project, 11n))).rejects.toMatchObject({
      code: 'INSUFFICIENT_BALANCE',
      details: { requested: '11', available: '10' },
    });
    expect(await network.carbonTotals(project.tokenAddress)).toMatchObject({ totalRetirements: 0 });
  });

  it('returns the credits when the network refuses the burn', async () => {
    const project = await boughtProject(10n);
    await network.pauseToken(project.tokenAddress);
    const key = randomUUID();
    const refused = { code: 'LEDGER_REFUSED', details: { amountReturned: '4', reason: 'PAUSED' } };
    const send = () => retire(platform.dependencies, buyerId, retireInput(project, 4n, key));
    await expect(send()).rejects.toMatchObject(refused);
    expect(await balancesOf(project)).toMatchObject({ heldByBuyers: 10n, retiring: 0n, retired: 0n });
    await network.pauseToken(project.tokenAddress, false);
    // The same key gets the same answer, even though it would work now.
    await expect(send()).rejects.toMatchObject(refused);
  });

  it('returns the credits when the burn lands and is refused', async () => {
    const project = await boughtProject(10n);
    let prepared = false;
    faults = (method) => {
      if (method === 'broadcast') prepared = true;
      return null;
    };
    const pausing = platform.dependencies.submission.crashPoint;
    platform.dependencies.submission.crashPoint = async (point) => {
      if (point === 'attempt-committed') await network.pauseToken(project.tokenAddress);
    };
    await expect(retire(platform.dependencies, buyerId, retireInput(project, 4n))).rejects.toMatchObject({
      code: 'LEDGER_REFUSED',
    });
    platform.dependencies.submission.crashPoint = pausing;
    faults = () => null;
    expect(prepared).toBe(true);
    expect(await balancesOf(project)).toMatchObject({ heldByBuyers: 10n, retired: 0n });
  });

  it('holds the credits while nothing is known, and settles when the network answers again', async () => {
    const project = await boughtProject(10n);
    const impatient = { ...platform.dependencies, mutationWaitMs: 300 };
    faults = (method) =>
      method === 'outcome' ? 'unreachable' : method === 'broadcast' ? 'answer-lost' : null;
    const key = randomUUID();
    const pending = await retire(impatient, buyerId, retireInput(project, 4n, key));
    expect(pending.state).toBe('PENDING');
    expect(await balancesOf(project)).toMatchObject({ heldByBuyers: 6n, retiring: 4n, retired: 0n });
    faults = () => null;
    const settled = await retire(platform.dependencies, buyerId, retireInput(project, 4n, key));
    expect(settled).toMatchObject({ id: pending.id, state: 'RETIRED' });
    expect(await network.carbonTotals(project.tokenAddress)).toMatchObject({ totalRetirements: 1 });
  });

  it('signs again only when the first attempt is proved dead', async () => {
    const project = await boughtProject(10n);
    let dropped = 0;
    faults = (method) => (method === 'broadcast' && dropped++ === 0 ? 'unreachable' : null);
    const crashPoint = platform.dependencies.submission.crashPoint;
    platform.dependencies.submission.crashPoint = async (point) => {
      // The network never saw the bytes, and its clock passes their end of validity.
      if (point === 'broadcast-sent' && dropped === 1) await network.advanceClock(120);
    };
    const retirement = await retire(platform.dependencies, buyerId, retireInput(project, 4n));
    platform.dependencies.submission.crashPoint = crashPoint;
    faults = () => null;
    expect(retirement.state).toBe('RETIRED');
    const history = await database.handle.db
      .select({ state: attempts.state, number: attempts.number })
      .from(attempts)
      .innerJoin(submissions, eq(submissions.id, attempts.submissionId))
      .where(eq(submissions.targetId, retirement.id))
      .orderBy(attempts.number);
    expect(history).toEqual([
      { state: 'DEAD', number: 1 },
      { state: 'LANDED', number: 2 },
    ]);
  });
});

describe('review', () => {
  const review = (submissionId: string, decision: 'RESUME' | 'GIVE_UP') =>
    decideSubmission(platform.dependencies, 'operator', {
      submissionId,
      decision,
      reason: 'looked at it',
    });

  async function submissionOf(targetId: string, kind: string) {
    const rows = await database.handle.db
      .select()
      .from(submissions)
      .where(eq(submissions.targetId, targetId));
    return rows.find((row) => row.kind === kind)?.id ?? '';
  }

  /** A retirement whose burn the network seems not to know. `sent` says whether the burn was sent. */
  async function undecided(project: TokenizedProject, sent: boolean) {
    faults = (method) => {
      if (method === 'outcome') return 'history-gone';
      return method === 'broadcast' && !sent ? 'unreachable' : null;
    };
    const retirement = await retire(platform.dependencies, buyerId, retireInput(project, 4n));
    faults = () => null;
    expect(retirement.state).toBe('NEEDS_REVIEW');
    expect(await balancesOf(project)).toMatchObject({ heldByBuyers: 6n, retiring: 4n, retired: 0n });
    return { retirementId: retirement.id, submissionId: await submissionOf(retirement.id, 'retire') };
  }

  it('settles what landed after all, whatever the operator decided', async () => {
    const project = await boughtProject(10n);
    const { submissionId } = await undecided(project, true);
    expect(await review(submissionId, 'GIVE_UP')).toMatchObject({ state: 'SUCCEEDED' });
    expect(await balancesOf(project)).toMatchObject({ heldByBuyers: 6n, retiring: 0n, retired: 4n });
    await expect(review(submissionId, 'RESUME')).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('gives nothing up that can still land, and returns the credits when it can not', async () => {
    const project = await boughtProject(10n);
    const { retirementId, submissionId } = await undecided(project, false);
    await expect(review(submissionId, 'GIVE_UP')).rejects.toMatchObject({ code: 'CONFLICT' });
    await network.advanceClock(120);
    expect(await review(submissionId, 'GIVE_UP')).toMatchObject({ state: 'REFUSED' });
    // The buyer may not read who decided and why.
    const { stateReason } = (await findRetirement(platform.dependencies, retirementId)) ?? {};
    expect(stateReason).toBe('an operator ended it after a review');
    const [decision] = (await readDecisions(platform.dependencies, [submissionId])).get(submissionId) ?? [];
    expect(decision).toMatchObject({ decision: 'GIVE_UP', decidedBy: 'operator', reason: 'looked at it' });
    expect(await balancesOf(project)).toMatchObject({ heldByBuyers: 10n, retiring: 0n, retired: 0n });
  });

  it('returns no credits while custody has a record like theirs that no retirement claims', async () => {
    const project = await boughtProject(10n);
    const { submissionId } = await undecided(project, true);
    faults = (method) => (method === 'outcome' ? 'history-gone' : null);
    await expect(review(submissionId, 'GIVE_UP')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/^Record 0 of token/),
    });
    faults = () => null;
    expect(await balancesOf(project)).toMatchObject({ heldByBuyers: 6n, retiring: 4n });
    expect(await review(submissionId, 'GIVE_UP')).toMatchObject({ state: 'SUCCEEDED' });
  });

  it('resumes a retirement, which then burns once', async () => {
    const project = await boughtProject(10n);
    const { submissionId, retirementId } = await undecided(project, false);
    await review(submissionId, 'RESUME');
    const settled = await awaitState(
      platform.dependencies,
      retirementId,
      () => findRetirement(platform.dependencies, retirementId),
      (retirement) => retirement?.state !== 'PENDING',
    );
    expect(settled?.state).toBe('RETIRED');
    expect(await network.carbonTotals(project.tokenAddress)).toMatchObject({ totalRetirements: 1 });
  });

  it('keeps a token without its mint for an operator, who resumes it', async () => {
    const { crashPoint } = platform.dependencies.submission;
    const input = projectInput({ quantityCO2e: 5n });
    platform.dependencies.submission.crashPoint = async (point) => {
      if (point !== 'settlement-committed') return;
      const [fresh] = await database.handle.db
        .select()
        .from(projects)
        .where(eq(projects.verificationBodyRef, input.verificationBodyRef));
      if (fresh?.state === 'MINTING' && fresh.tokenAddress) await network.pauseToken(fresh.tokenAddress);
    };
    const project = await createProject(platform.dependencies, 'developer', input);
    platform.dependencies.submission.crashPoint = crashPoint;
    expect(project.state).toBe('NEEDS_REVIEW');
    await network.pauseToken(project.tokenAddress ?? '', false);
    await review(await submissionOf(project.id, 'mint'), 'RESUME');
    expect(await createProject(platform.dependencies, 'developer', input)).toMatchObject({ state: 'OPEN' });
  });
});
