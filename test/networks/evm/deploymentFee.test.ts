/**
 * A factory's fee for a deployment, and custody without enough coin for it, through the whole of submission:
 * over the cap nothing is paid and nothing is lost, and without coin the error says what is missing.
 */
import { eq } from 'drizzle-orm';
import { encodeFunctionData, parseAbi, parseEther, parseGwei, toHex } from 'viem';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Platform } from '../../../src/startup/compose.ts';
import { attempts, submissions } from '../../../src/db/tables/index.ts';
import { resumeSubmission } from '../../../src/ledger/submission/review.ts';
import { createProject } from '../../../src/resolvers/carbon/createProject.ts';
import { findProjectById } from '../../../src/resolvers/carbon/findProject.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { projectInput } from '../../../devnet/platform.ts';
import { platformOn } from '../../support/platform.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { landTransaction } from '../../../devnet/evm/landTransaction.ts';

const factoryOwnerAbi = parseAbi(['function setDeploymentFee(uint256 fee)']);

let world: EvmWorld;
let database: TestDatabase;
let platform: Platform;

beforeAll(async () => {
  world = await startEvmWorld();
  database = await createTestDatabase();
  platform = await platformOn(database.handle, await connectLedger(world.ledger, database.handle));
  await platform.start();
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
  await world.close();
});
afterEach(async () => {
  platform.dependencies.mutationWaitMs = 20_000;
  await setFee('0');
});

function feeChange(coins: string) {
  const [deployer] = world.node.accounts;
  const data = encodeFunctionData({ abi: factoryOwnerAbi, args: [parseEther(coins)] });
  return { from: deployer.address, to: world.ledger.factoryAddress, data };
}

const setFee = (coins: string) => landTransaction(world.node, feeChange(coins));

const custody = () => platform.dependencies.network.custodyAddress;
const setBalance = (coins: string) =>
  world.node.rpc('anvil_setBalance', [custody(), toHex(parseEther(coins))]);
const balance = async () => BigInt((await world.node.rpc('eth_getBalance', [custody(), 'latest'])) as string);

const isOpened = (projectId: string) =>
  expect
    .poll(() => findProjectById(platform.dependencies, projectId))
    .toMatchObject({ state: 'OPEN', stateReason: null });

async function submissionOf(projectId: string) {
  const [row] = await database.handle.db
    .select()
    .from(submissions)
    .where(eq(submissions.targetId, projectId));
  if (!row) throw new Error('nothing was submitted');
  return row;
}

describe('a deployment fee above the cap', () => {
  it('is not paid: the project is held for review, and goes on when the fee is lowered', async () => {
    await setFee('9000');
    const before = await balance();
    const project = await createProject(platform.dependencies, 'developer', projectInput());
    expect(project.state).toBe('NEEDS_REVIEW');
    expect(project.stateReason).toMatch(
      /asks 9000 .* the cap is 0\.1\. Raise LEDGER_MAX_DEPLOYMENT_FEE_COINS/,
    );
    const submission = await submissionOf(project.id);
    expect(submission).toMatchObject({ state: 'NEEDS_REVIEW', refusalReason: 'FEE_ABOVE_CAP' });
    expect(await database.handle.db.$count(attempts, eq(attempts.submissionId, submission.id))).toBe(0);
    expect(await balance()).toBe(before);

    await setFee('0.05');
    await resumeSubmission(platform.dependencies.submission, submission.id);
    await isOpened(project.id);
    expect(before - (await balance())).toBeGreaterThan(parseEther('0.05'));
    expect(before - (await balance())).toBeLessThan(parseEther('0.1'));
  });
});

describe('a deployment fee that changes before the deployment lands', () => {
  it.each([
    ['raised', '0', '0.05'],
    ['lowered', '0.05', '0'],
  ])('and is %s then: the next attempt pays it', async (_, before, after) => {
    await setFee(before);
    const { rpc } = world.node;
    await rpc('evm_setAutomine', [false]);
    platform.dependencies.mutationWaitMs = 0;
    const project = await createProject(platform.dependencies, 'developer', projectInput());
    const waiting = async () => Number(((await rpc('txpool_status', [])) as { pending: string }).pending);
    await expect.poll(waiting).toBe(1);
    // Its fee puts this transaction first in the block.
    const tip = { maxPriorityFeePerGas: toHex(parseGwei('900')), maxFeePerGas: toHex(parseGwei('1000')) };
    await rpc('eth_sendTransaction', [{ ...feeChange(after), ...tip }]);
    await rpc('evm_setAutomine', [true]);
    await rpc('evm_mine', []);

    await isOpened(project.id);
    const { id } = await submissionOf(project.id);
    const made = await database.handle.db
      .select({ state: attempts.state, evidence: attempts.evidence })
      .from(attempts)
      .where(eq(attempts.submissionId, id))
      .orderBy(attempts.number);
    expect(made).toMatchObject([
      {
        state: 'DEAD',
        evidence: expect.stringMatching(/the fee for a deployment was \d+ wei there, and it paid \d+/),
      },
      { state: 'LANDED' },
    ]);
  });
});

describe('custody without the coin for it', () => {
  it.each([
    ['the fee', '0.05', '0.01'],
    ['the gas', '0', '0.0000001'],
  ])('for %s: the submission says so, waits, and goes on when custody is funded', async (_, fee, coins) => {
    await setFee(fee);
    await setBalance(coins);
    platform.dependencies.mutationWaitMs = 0;
    const project = await createProject(platform.dependencies, 'developer', projectInput());
    await expect
      .poll(async () => (await submissionOf(project.id)).stateReason)
      .toMatch(/ has 0\.0.* fund it$/);
    const waiting = await submissionOf(project.id);
    expect(waiting.state).toBe('PENDING');
    expect(waiting.stateReason).toContain(custody());
    expect(waiting.stateReason).not.toContain('did not answer');
    await setBalance('10');
    await expect
      .poll(() => findProjectById(platform.dependencies, project.id))
      .toMatchObject({ state: 'OPEN' });
    expect((await submissionOf(project.id)).stateReason).toBeNull();
  });
});
