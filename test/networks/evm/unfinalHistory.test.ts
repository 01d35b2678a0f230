/**
 * A database restored from an old copy, while what the original sent last is in the chain and not final: no read shows it
 * yet, so nothing is given up and signing does not go on.
 */
import { randomUUID } from 'node:crypto';
import { toHex } from 'viem';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { attempts, submissions } from '../../../src/db/tables/index.ts';
import { settle } from '../../../src/ledger/submission/settle.ts';
import { readHalt } from '../../../src/ledger/submission/sequenceSlots.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { resolveReview, type ReviewDecision } from '../../../src/resolvers/operations/resolveReview.ts';
import { resumeSigning } from '../../../src/resolvers/operations/resumeSigning.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { openProject } from '../../../devnet/platform.ts';
import { platformOn } from '../../support/platform.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';

const CONFIRMATIONS = 4;
let world: EvmWorld;
beforeAll(async () => {
  world = await startEvmWorld({
    mining: { everySeconds: 0.2 },
    ledger: { finality: { confirmations: CONFIRMATIONS } },
  });
});
afterAll(() => world.close());

/** One that is not started signs nothing. */
async function onInstance<T>(
  url: string,
  work: (platform: Platform, handle: DatabaseHandle) => Promise<T>,
  { starts = true } = {},
): Promise<T> {
  const handle = openDatabase({ url, poolSize: 5, applicationName: 'unfinal history' });
  const platform = await platformOn(handle, await connectLedger(world.ledger, handle), {
    mutationWaitMs: 15_000,
  });
  if (starts) await platform.start();
  try {
    return await work(platform, handle);
  } finally {
    await platform.stop();
    await handle.close();
  }
}

/** The copy was made when the buyer held 100; the original's burn of 30 is in the latest block. */
async function copyWithUnfinalBurn() {
  await world.node.rpc('evm_setIntervalMining', [1]);
  const original = await createTestDatabase();
  await original.handle.close();
  const tokenAddress = await onInstance(original.url, async (platform) => {
    const project = await openProject(platform, 100n);
    await purchase(platform.dependencies, 'acme', {
      buyerId: 'acme',
      tokenAddress: project.tokenAddress,
      amountCO2e: 100n,
      idempotencyKey: randomUUID(),
    });
    return project.tokenAddress;
  });
  const copy = await createTestDatabase({ copyOf: original });
  await copy.handle.close();
  const input = {
    buyerId: 'acme',
    buyerName: 'Acme Ltd',
    tokenAddress,
    amountCO2e: 30n,
    note: '',
    idempotencyKey: randomUUID(),
  };
  await world.node.rpc('evm_setIntervalMining', [0]);
  await onInstance(original.url, async ({ dependencies }, handle) => {
    dependencies.mutationWaitMs = 0;
    await retire(dependencies, 'acme', input);
    await expect.poll(() => handle.db.$count(attempts, eq(attempts.state, 'OPEN'))).toBe(1);
    await expect
      .poll(async () => {
        await world.node.rpc('anvil_mine', [toHex(1)]);
        const [open] = await handle.db.select().from(attempts).where(eq(attempts.state, 'OPEN'));
        return world.node.rpc('eth_getTransactionReceipt', [open?.hash]);
      })
      .not.toBeNull();
  });
  return { input, copy, drop: () => Promise.all([original.drop(), copy.drop()]) };
}

async function decide({ dependencies }: Platform, handle: DatabaseHandle, decision: ReviewDecision) {
  const [submission] = await handle.db
    .select()
    .from(submissions)
    .where(eq(submissions.state, 'NEEDS_REVIEW'));
  const input = { submissionId: submission?.id ?? '', decision, reason: 'looked at it' };
  return resolveReview(dependencies, 'operator', input);
}

it('does not let signing go on before what others sent is final', async () => {
  const { input, copy, drop } = await copyWithUnfinalBurn();
  await onInstance(copy.url, async (platform, handle) => {
    const { dependencies } = platform;
    expect(await retire(dependencies, 'acme', input)).toMatchObject({ state: 'NEEDS_REVIEW' });
    await expect.poll(() => readHalt(handle.db)).toMatch(/the database is an old copy/);
    const resumed = resumeSigning(dependencies, 'operator', { reason: 'the copy is all there is' });
    await expect(resumed).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/not final yet/),
    });
    await world.node.rpc('evm_setIntervalMining', [1]);
    await expect
      .poll(
        () =>
          resumeSigning(dependencies, 'operator', { reason: 'it is final' }).then(
            () => 'resumed',
            () => 'not',
          ),
        { timeout: 20_000 },
      )
      .toBe('resumed');
    await expect(decide(platform, handle, 'RESUME')).rejects.toMatchObject({ code: 'CONFLICT' });
    await decide(platform, handle, 'ADOPT');
    expect(await dependencies.network.carbonTotals(input.tokenAddress)).toMatchObject({
      totalRetirements: 1,
    });
    expect(await reconcileAll({ ...dependencies, isStill: true })).toMatchObject({ findings: [] });
  });
  await drop();
});

it.each([
  ['while signing is halted', true],
  ['where nothing was to be signed, so that signing was not halted', false],
])('gives nothing up before what others sent is final: %s', async (_name, starts) => {
  const { input, copy, drop } = await copyWithUnfinalBurn();
  await onInstance(
    copy.url,
    async (platform, handle) => {
      const { dependencies } = platform;
      if (!starts) dependencies.mutationWaitMs = 0;
      const { id } = await retire(dependencies, 'acme', input);
      const [submission] = await handle.db.select().from(submissions).where(eq(submissions.subjectId, id));
      const verdict = {
        kind: 'needsReview',
        attemptHash: null,
        cause: 'ATTEMPTS_DIED',
        reason: 'died',
      } as const;
      if (!starts) await settle(dependencies.submission, submission?.id ?? '', verdict);
      await expect(decide(platform, handle, 'GIVE_UP')).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await readHalt(handle.db)).toMatch(/the database is an old copy/);
      await world.node.rpc('anvil_mine', [toHex(CONFIRMATIONS + 1)]);
      await expect
        .poll(() => decide(platform, handle, 'GIVE_UP').catch((error: Error) => error.message))
        .toMatch(/ADOPT takes it as the outcome/);
      await decide(platform, handle, 'ADOPT');
      await world.node.rpc('evm_setIntervalMining', [1]);
    },
    { starts },
  );
  await drop();
});
