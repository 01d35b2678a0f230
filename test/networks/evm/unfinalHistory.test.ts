/**
 * A database restored from an old copy, while the original's last transaction is in the chain and not final:
 * no read shows it yet, so nothing is given up and signing does not go on.
 */
import { toHex } from 'viem';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { attempts, submissions } from '../../../src/db/tables/index.ts';
import { settle } from '../../../src/ledger/submission/settle.ts';
import { readHalt } from '../../../src/ledger/submission/halts.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { decideHalt } from '../../support/decisions.ts';
import { retirement } from '../../support/holding.ts';
import { copyWhileHolding, decideReview, instancesOn } from '../../support/onInstance.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';

const CONFIRMATIONS = 4;
let world: EvmWorld;
beforeAll(async () => {
  world = await startEvmWorld({
    mining: 'on-demand',
    ledger: { finality: { confirmations: CONFIRMATIONS } },
  });
});
afterAll(async () => {
  letChainStand();
  await world.close();
});

let blocks: NodeJS.Timeout | undefined;

/** Makes five blocks a second; without this, the node makes at most one. */
function letChainGoOn(): void {
  blocks ??= setInterval(() => void world.node.mine().catch(() => {}), 200);
}

function letChainStand(): void {
  clearInterval(blocks);
  blocks = undefined;
}

const onInstance = instancesOn(() => world);

/** Makes the copy when the buyer holds 100; the original's burn of 30 is in the latest block. */
async function copyWithUnfinalBurn() {
  letChainGoOn();
  const { original, copy, tokenAddress, drop } = await copyWhileHolding(onInstance, 100n);
  const input = retirement(tokenAddress, 30n);
  letChainStand();
  await onInstance(original.url, async ({ dependencies, handle }) => {
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
  return { input, copy, drop };
}

it('does not let signing go on before what others sent is final', async () => {
  const { input, copy, drop } = await copyWithUnfinalBurn();
  await onInstance(copy.url, async (platform) => {
    const { dependencies, handle } = platform;
    expect(await retire(dependencies, 'acme', input)).toMatchObject({ state: 'NEEDS_REVIEW' });
    await expect.poll(() => readHalt(handle.db)).toMatch(/the database is an old copy/);
    const resumed = decideHalt(dependencies, 'operator', { reason: 'the copy is all there is' });
    await expect(resumed).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/not final yet/),
    });
    letChainGoOn();
    await expect
      .poll(() =>
        decideHalt(dependencies, 'operator', { reason: 'it is final' }).then(
          () => 'resumed',
          () => 'not',
        ),
      )
      .toBe('resumed');
    await expect(decideReview(platform, 'RESUME')).rejects.toMatchObject({ code: 'CONFLICT' });
    await decideReview(platform, 'ADOPT');
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
    async (platform) => {
      const { dependencies, handle } = platform;
      const { id } = await retire(dependencies, 'acme', input);
      const [submission] = await handle.db.select().from(submissions).where(eq(submissions.targetId, id));
      if (!submission) throw new Error(`retirement ${id} has no submission`);
      const conclusion = {
        kind: 'needsReview',
        attemptHash: null,
        cause: 'ATTEMPTS_DIED',
        reason: 'died',
      } as const;
      if (!starts) await settle(dependencies.submission, submission, conclusion);
      await expect(decideReview(platform, 'GIVE_UP')).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await readHalt(handle.db)).toMatch(/the database is an old copy/);
      await world.node.rpc('anvil_mine', [toHex(CONFIRMATIONS + 1)]);
      await expect
        .poll(() => decideReview(platform, 'GIVE_UP').catch((error: Error) => error.message))
        .toMatch(/ADOPT takes it as the outcome/);
      await decideReview(platform, 'ADOPT');
    },
    { starts },
  );
  await drop();
});
