/**
 * A chain that is rolled back below finality, which undoes landed transactions. Signing stops, the same bytes
 * are sent again, and signing goes on when books and network are proved to agree.
 */
import { randomUUID } from 'node:crypto';
import { isNotNull, sql } from 'drizzle-orm';
import { toHex } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { signingAccounts } from '../../../src/db/tables/index.ts';
import { describeNetwork } from '../../../src/ledger/network/continuity.ts';
import { readHalt } from '../../../src/ledger/submission/halts.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { openProject, silentLog } from '../../../devnet/platform.ts';
import { decideHalt } from '../../support/decisions.ts';
import { holding } from '../../support/holding.ts';
import { depositInputOf, prepareDeposit } from '../../support/wallets/walletCashOuts.ts';
import { signAndSubmit } from '../../support/wallets/walletWorld.ts';
import { activeReceipt, providerSays, reaches } from '../../support/warehouse.ts';
import { PAUSED_CODE } from '../../support/evm/pausedCode.ts';
import { platformOn } from '../../support/platform.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { landTransaction } from '../../../devnet/evm/landTransaction.ts';
import { depositInUse } from '../../support/depositInUse.ts';

/** Instead of five and ten seconds, because this one node is never wrong for a moment. */
const SOON = { ledger: { reorgConfirmedAfterMs: 1_000 }, continuityPollMs: 1_000 };

let world: EvmWorld;
let database: TestDatabase;
let platform: Platform;
const halts: string[] = [];
const errors: string[] = [];

beforeAll(async () => {
  world = await startEvmWorld({ ledger: SOON.ledger });
  database = await createTestDatabase();
  platform = await platformOn(database.handle, await connectLedger(world.ledger, database.handle), {
    mutationWaitMs: 30_000,
    continuityPollMs: SOON.continuityPollMs,
    log: Object.assign(Object.create(silentLog) as typeof silentLog, {
      error: (_: unknown, message: string) => void errors.push(message),
    }),
  });
  await platform.start();
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
  await world.close();
});

const retirement = (tokenAddress: string, amountCO2e: bigint) => ({
  buyerId: 'acme',
  buyerName: 'Acme Ltd',
  tokenAddress,
  amountCO2e,
  note: randomUUID(),
  idempotencyKey: randomUUID(),
});

/** For conditions that take seconds, and whose polls ask database and node. */
const PATIENT = { timeout: 50_000, interval: 500 };

/** Rolls the chain back and continues it with other, later blocks to a greater length. */
async function rewrite({ node }: EvmWorld, undone = 1): Promise<void> {
  await node.rpc('anvil_rollback', [undone]);
  await node.rpc('evm_increaseTime', [600]);
  await node.rpc('anvil_mine', [toHex(8)]);
}

/**
 * Records why signing has stopped, and makes the next look due within a second, because it may be due in half
 * a minute.
 */
async function noteHalt(): Promise<void> {
  const stopped = await database.handle.db
    .update(signingAccounts)
    .set({ reviewDueAt: sql`least(${signingAccounts.reviewDueAt}, now() + interval '1 second')` })
    .where(isNotNull(signingAccounts.haltedBecause))
    .returning();
  for (const { haltedBecause } of stopped) if (haltedBecause !== null) halts.push(haltedBecause);
}

async function notingHalts(work: () => Promise<void>): Promise<void> {
  // Polls, because a halt lasts only seconds.
  const watch = setInterval(() => void noteHalt(), 500);
  try {
    await work();
  } finally {
    clearInterval(watch);
  }
}

it(
  'halts, sends again what had landed, and goes on without burning anything twice',
  { timeout: 120_000 },
  async () => {
    const { dependencies } = platform;
    const { tokenAddress } = await openProject(platform, 100n);
    await purchase(dependencies, 'acme', {
      buyerId: 'acme',
      tokenAddress,
      amountCO2e: 100n,
      idempotencyKey: randomUUID(),
    });
    const undone = [];
    for (const tonnes of [10n, 20n]) {
      undone.push(await retire(dependencies, 'acme', retirement(tokenAddress, tonnes)));
    }
    expect(undone.map(({ state }) => state)).toEqual(['RETIRED', 'RETIRED']);

    await rewrite(world, 2);

    const input = retirement(tokenAddress, 5n);
    await notingHalts(async () => {
      await expect
        .poll(async () => (await retire(dependencies, 'acme', input)).state, PATIENT)
        .toBe('RETIRED');
    });
    // Timing decides whether the nonce or the block's hash is noticed first.
    expect(halts.join()).toMatch(/rolled back below finality|rewritten below what was final/);
    expect(await dependencies.network.carbonTotals(tokenAddress)).toMatchObject({
      totalRetirements: 3,
      totalRetired: 35n * 10n ** 18n,
    });
    expect(await reconcileAll(dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
  },
);

async function wholeAgain({ dependencies: { network } }: Platform): Promise<void> {
  await expect.poll(() => describeNetwork(network), PATIENT).toBe('ok');
}

it('notices it although nothing is to be signed, and puts back what had landed', async () => {
  const { dependencies } = platform;
  const tokenAddress = await holding(platform, 100n);
  const input = retirement(tokenAddress, 10n);
  expect(await retire(dependencies, 'acme', input)).toMatchObject({ state: 'RETIRED' });
  await rewrite(world);
  await notingHalts(async () => {
    await wholeAgain(platform);
  });
  await expect.poll(() => readHalt(database.handle.db)).toBeNull();
  await isBurnedOnce(tokenAddress);
}, 120_000);

it('puts back also what a holder had signed: a cash-out would be paid whose tokens the holder has again', async () => {
  const { dependencies } = platform;
  const holder = await world.createHolder();
  const wallets = { platform, network: dependencies.network };
  const receipt = await activeReceipt(platform, { farmerAddress: holder.address });
  const { session, act } = await prepareDeposit(wallets, holder, depositInputOf(receipt, holder));
  expect(await signAndSubmit(wallets, holder, act)).toMatchObject({ state: 'LANDED' });
  const { id, providerSessionId } = await reaches(platform, session.id, 'AWAITING_PAYOUT');
  await rewrite(world);
  await notingHalts(async () => {
    await wholeAgain(platform);
  });
  await expect.poll(() => readHalt(database.handle.db)).toBeNull();
  expect(await depositInUse(dependencies.network, providerSessionId)).toMatchObject({
    depositor: holder.address,
    status: 'PENDING',
  });
  await providerSays(platform, providerSessionId ?? '', 'settled');
  await reaches(platform, id, 'SETTLED');
  expect((await reconcileAll(dependencies)).findings).toEqual([]);

  // Also when the rollback undoes custody's release: the release is refused while the deposit is missing.
  await rewrite(world, 2);
  await notingHalts(async () => {
    await wholeAgain(platform);
  });
  await expect.poll(() => readHalt(database.handle.db)).toBeNull();
  expect((await reconcileAll(dependencies)).findings).toEqual([]);
}, 180_000);

async function isBurnedOnce(tokenAddress: string): Promise<void> {
  const { dependencies } = platform;
  expect(await dependencies.network.carbonTotals(tokenAddress)).toMatchObject({ totalRetirements: 1 });
  expect(await reconcileAll(dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
}

/** Resumes signing as an operator. @returns the error's message, or null */
const refusalToResume = () =>
  decideHalt(platform.dependencies, 'operator', { reason: 'it is enough' }).then(
    () => null,
    ({ message }: Error) => message,
  );

it('says which nonce is to be filled by hand, where what is undone was not all its own', async () => {
  const { dependencies } = platform;
  const tokenAddress = await holding(platform, 100n);
  // Uses custody's key outside of the platform.
  await world.setPaused(tokenAddress, true);
  await world.setPaused(tokenAddress, false);
  const input = retirement(tokenAddress, 10n);
  await notingHalts(async () => {
    const state = async () => (await retire(dependencies, 'acme', input)).state;
    await expect.poll(state, PATIENT).toBe('RETIRED');
    const from = dependencies.network.custodyAddress;
    const nonceOf = async () => Number(await world.node.rpc('eth_getTransactionCount', [from, 'latest']));
    const missing = (await nonceOf()) - 3;
    await rewrite(world, 3);
    await expect
      .poll(refusalToResume, PATIENT)
      .toMatch(new RegExp(`waits for sequence ${missing} of ${from},.* by hand`));
    for (const nonce of [missing, missing + 1]) {
      await world.node.rpc('eth_sendTransaction', [{ from, to: from, nonce: toHex(nonce) }]);
    }
    await wholeAgain(platform);
  });
  await expect.poll(() => readHalt(database.handle.db)).toBeNull();
  await isBurnedOnce(tokenAddress);
}, 180_000);

it('says which nonce is to be filled by hand also where nothing of its own is undone', async () => {
  const { dependencies } = platform;
  const { node } = world;
  const tokenAddress = await holding(platform, 100n);
  const from = dependencies.network.custodyAddress;
  const missing = Number(await node.rpc('eth_getTransactionCount', [from, 'latest']));
  const filling = { from, to: from, nonce: toHex(missing) };
  // Uses custody's key outside of the platform: the transaction is examined, and the burn gets the nonce
  // after it.
  await landTransaction(node, filling);
  await node.rpc('evm_setAutomine', [false]);
  const burned = retire(dependencies, 'acme', retirement(tokenAddress, 10n));
  await notingHalts(async () => {
    await expect
      .poll(() => node.rpc('txpool_status', []), { timeout: 30_000 })
      .toMatchObject({ pending: '0x1' });
    errors.length = 0;
    await rewrite(world);
    const named = new RegExp(`waits for sequence ${missing} of ${from},.* by hand`);
    await expect.poll(() => errors.join(), { timeout: 30_000 }).toMatch(named);
    await node.rpc('eth_sendTransaction', [filling]);
    await node.mine(1);
    await node.rpc('evm_setAutomine', [true]);
    await wholeAgain(platform);
  });
  await expect.poll(() => readHalt(database.handle.db)).toBeNull();
  await burned.catch(() => null);
  await isBurnedOnce(tokenAddress);
}, 180_000);

it('does not send again what was refused: its credits are returned, and what refused it is undone', async () => {
  const { dependencies } = platform;
  const { node } = world;
  const tokenAddress = await holding(platform, 100n);
  const code = await node.rpc('eth_getCode', [tokenAddress, 'latest']);
  const from = dependencies.network.custodyAddress;
  const missing = Number(await node.rpc('eth_getTransactionCount', [from, 'latest']));
  // Pauses the token after the burn was signed, and before it lands.
  await node.rpc('evm_setAutomine', [false]);
  const refused = expect(retire(dependencies, 'acme', retirement(tokenAddress, 10n))).rejects.toThrow(
    'The retirement was refused, and the credits were returned',
  );
  await expect.poll(() => node.rpc('txpool_status', [])).toMatchObject({ pending: '0x1' });
  await node.rpc('anvil_setCode', [tokenAddress, PAUSED_CODE]);
  await node.mine(1);
  const refusedIn = Number(await node.rpc('eth_blockNumber', []));
  await node.rpc('anvil_setCode', [tokenAddress, code]);
  await node.rpc('evm_setAutomine', [true]);
  await refused;

  await notingHalts(async () => {
    // Undoes also the blocks that landed after the refusal.
    await rewrite(world, Number(await node.rpc('eth_blockNumber', [])) - refusedIn + 1);
    // The rollback undoes the change of the code as well.
    await node.rpc('anvil_setCode', [tokenAddress, code]);
    await expect
      .poll(refusalToResume, PATIENT)
      .toMatch(new RegExp(`was refused, so it is not sent again.*waits for sequence ${missing} of ${from}`));
    expect(await dependencies.network.carbonTotals(tokenAddress)).toMatchObject({ totalRetirements: 0 });
    await node.rpc('eth_sendTransaction', [{ from, to: from, nonce: toHex(missing) }]);
    await wholeAgain(platform);
  });
  await expect.poll(() => readHalt(database.handle.db)).toBeNull();
  expect(await retire(dependencies, 'acme', retirement(tokenAddress, 100n))).toMatchObject({
    state: 'RETIRED',
  });
  expect(await reconcileAll(dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
}, 180_000);

it('goes on where no account has signed yet, so that nothing can be undone', async () => {
  const other = await startEvmWorld({ ledger: SOON.ledger });
  const fresh = await createTestDatabase();
  const idle = await platformOn(fresh.handle, await connectLedger(other.ledger, fresh.handle), {
    continuityPollMs: SOON.continuityPollMs,
  });
  // The undone blocks contain none of the contracts.
  await other.node.mine(2);
  await idle.dependencies.network.status();
  await rewrite(other);
  await idle.start();
  await wholeAgain(idle);
  await expect.poll(() => readHalt(fresh.handle.db)).toBeNull();
  expect(await openProject(idle, 10n)).toMatchObject({ state: 'OPEN' });
  await idle.stop();
  await fresh.drop();
  await other.close();
}, 120_000);
