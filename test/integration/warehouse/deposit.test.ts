/**
 * Deposits on the embedded network, with faults: one token and one mint, whatever is lost or cut off.
 */
import { randomUUID } from 'node:crypto';
import { and, eq } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { receipts, submissions } from '../../../src/db/tables/index.ts';
import { decideSubmission } from '../../support/decisions.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { step } from '../../../src/ledger/submission/step.ts';
import { createStepStore } from '../../../src/ledger/submission/stepStore.ts';
import type { CrashPoint } from '../../../src/ledger/submission/submission.ts';
import { toBaseUnits, ZERO_HASH } from '../../../src/ledger/units.ts';
import {
  createDeposit,
  dryRunDeposit,
  STORAGE_SECONDS,
} from '../../../src/resolvers/warehouse/createDeposit.ts';
import { findReceiptByToken } from '../../../src/resolvers/warehouse/findReceipt.ts';
import { listReceipts } from '../../../src/resolvers/warehouse/listReceipts.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { withFaults, type FaultPlan } from '../../support/faults/faultyNetwork.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';
import { openProject } from '../../../devnet/platform.ts';
import { platformOn } from '../../support/platform.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { activeReceipt, depositInput } from '../../support/warehouse.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;
let faults: FaultPlan = () => null;

beforeAll(async () => {
  ({ database, network, platform } = await startFaultyPlatform((...call) => faults(...call)));
});
afterAll(async () => {
  faults = () => null;
  const report = await reconcileAll(platform.dependencies);
  await platform.stop();
  await database.drop();
  expect(report.findings).toEqual([]);
});

const deposit = (input = depositInput(platform)) =>
  createDeposit(platform.dependencies, 'warehouse-1', input);

describe('createDeposit', () => {
  it('deploys the receipt as specified and mints its kilograms to the farmer', async () => {
    const farmerAddress = network.factoryAddress;
    const before = BigInt(Date.now());
    const input = depositInput(platform, { farmerAddress, quantityKg: 2500n, warehouseId: 'NBO-7' });
    const receipt = await deposit(input);
    expect(receipt).toMatchObject({
      state: 'ACTIVE',
      tokenName: 'Maize NBO-7',
      tokenSymbol: 'WHR',
      inspectionReportHash: ZERO_HASH,
      countryCode: 'KE',
      farmerAddress,
      confirmedBy: 'warehouse-1',
    });
    expect(receipt.assetId).toBe(`NBO-7-${receipt.assetMillis}`);
    expect(receipt.assetMillis).toBeGreaterThanOrEqual(before);
    expect(receipt.expiryDate - receipt.depositDate).toBe(15_552_000n);
    expect(STORAGE_SECONDS).toBe(15_552_000n);

    const tokenAddress = receipt.tokenAddress ?? '';
    expect(await network.expiryOf([tokenAddress])).toMatchObject([{ isExpired: false }]);
    expect(await network.balanceOf(tokenAddress, farmerAddress)).toBe(toBaseUnits(2500n));
    expect(await network.totalSupply(tokenAddress)).toBe(toBaseUnits(2500n));
    expect(await findReceiptByToken(platform.dependencies, tokenAddress)).toMatchObject({ id: receipt.id });
    const [stored] = await database.handle.db
      .select({ call: submissions.call })
      .from(submissions)
      .where(and(eq(submissions.targetId, receipt.id), eq(submissions.kind, 'deployCommodityReceipt')));
    expect(stored?.call).toMatchObject({
      kind: 'deployCommodityReceipt',
      assetId: receipt.assetId,
      metadata: {
        valuationUSD: { $integer: toBaseUnits(400n).toString() },
        quantityKg: { $integer: '2500' },
      },
    });
  });

  it('answers one key with one receipt, and another input with a conflict', async () => {
    const input = depositInput(platform);
    const answers = await Promise.all(Array.from({ length: 8 }, () => deposit(input)));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(await network.totalSupply(answers[0]?.tokenAddress ?? '')).toBe(toBaseUnits(1000n));
    const leftOut = { warehouseLocation: null, harvestSeason: undefined, farmerId: null };
    expect((await deposit({ ...leftOut, ...input })).id).toBe(answers[0]?.id);
    await expect(deposit({ ...input, quantityKg: 999n })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    });
  });

  it('gives every deposit of one warehouse its own asset id, however many come at once', async () => {
    const warehouseId = `WH-${randomUUID()}`;
    const made = await Promise.all(
      Array.from({ length: 12 }, () => deposit(depositInput(platform, { warehouseId }))),
    );
    expect(new Set(made.map(({ assetId }) => assetId)).size).toBe(12);
    const filter = { warehouseIds: [warehouseId], states: ['ACTIVE'] } as const;
    const listed = await listReceipts(platform.dependencies, filter).list({ limit: 50, inverted: false });
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(made.map(({ id }) => id)));
  });

  it('refuses an address that is not one of the network', async () => {
    const wrong = depositInput(platform, { farmerAddress: '0x1234' });
    await expect(deposit(wrong)).rejects.toMatchObject({
      code: 'BAD_USER_INPUT',
      details: { field: 'input.farmerAddress' },
    });
  });

  it('refuses the settlement contract as the farmer: what is minted to it would stay there', async () => {
    const settlement = await network.settlementContract();
    const wrong = depositInput(platform, { farmerAddress: settlement?.address ?? '' });
    await expect(deposit(wrong)).rejects.toMatchObject({
      code: 'BAD_USER_INPUT',
      message: expect.stringContaining('settlement contract') as string,
      details: { field: 'input.farmerAddress' },
    });
  });

  it('refuses a token as the farmer: what is minted to it would stay there', async () => {
    const [receipt, project] = await Promise.all([activeReceipt(platform), openProject(platform, 1n)]);
    for (const { tokenAddress, assetId } of [receipt, project]) {
      await expect(deposit(depositInput(platform, { farmerAddress: tokenAddress }))).rejects.toMatchObject({
        code: 'BAD_USER_INPUT',
        message: expect.stringContaining(`is the token of "${assetId}"`) as string,
        details: { field: 'input.farmerAddress' },
      });
    }
  });

  it('refuses an account that only signs for the platform: nothing that it holds can be cashed out', async () => {
    const channel = createEmbeddedHolder().address;
    const { dependencies } = platform;
    const signingOrder = { accounts: [network.custodyAddress, channel], maxOpenPerAccount: 1 };
    const deps = { ...dependencies, network: { ...dependencies.network, signingOrder } };
    const minted = (farmerAddress: string) =>
      dryRunDeposit(deps, 'warehouse-1', depositInput(platform, { farmerAddress }));
    await expect(minted(channel)).rejects.toMatchObject({
      code: 'BAD_USER_INPUT',
      details: { field: 'input.farmerAddress' },
    });
    await expect(minted(network.custodyAddress)).resolves.toMatchObject({ tokenName: expect.any(String) });
  });

  it('mints once when the answers of deploy and mint are lost', async () => {
    let lost = 0;
    faults = (method) => (method === 'broadcast' && lost++ < 2 ? 'answer-lost' : null);
    const receipt = await activeReceipt(platform, { quantityKg: 70n });
    faults = () => null;
    expect(lost).toBeGreaterThanOrEqual(2);
    expect(await network.totalSupply(receipt.tokenAddress)).toBe(toBaseUnits(70n));
  });

  it('finishes a deposit that was cut off between deploy and mint, on another instance, once', async () => {
    // The instance's process ends when the deploy is settled, before any later step.
    const cutOff = await platformOn(database.handle, network, { mutationWaitMs: 0 });
    await platform.stop();
    const { id } = await createDeposit(cutOff.dependencies, 'warehouse-1', depositInput(cutOff));
    const [deploy] = await database.handle.db.select().from(submissions).where(eq(submissions.targetId, id));
    const dying = {
      ...cutOff.dependencies.submission,
      crashPoint: async (point: CrashPoint) => {
        if (point === 'settlement-committed') throw new Error('the process ends here');
      },
    };
    if (!deploy) throw new Error('no intent to deploy');
    await expect(step(dying, createStepStore(dying), deploy)).rejects.toThrow('ends here');
    const state = async () => {
      const [row] = await database.handle.db.select().from(receipts).where(eq(receipts.id, id));
      return row;
    };
    expect(await state()).toMatchObject({ state: 'MINTING' });
    await cutOff.stop();

    platform = await platformOn(
      database.handle,
      withFaults(network, (...call) => faults(...call)),
    );
    const workers = [platform, await platformOn(database.handle, network)];
    await Promise.all(workers.map((worker) => worker.start()));
    await expect.poll(async () => (await state())?.state).toBe('ACTIVE');
    await workers[1]?.stop();
    expect(await network.totalSupply((await state())?.tokenAddress ?? '')).toBe(toBaseUnits(1000n));
  });

  it('reports a refused deploy, and keeps a token without its mint for an operator', async () => {
    faults = (method) => (method === 'draft' ? 'refused' : null);
    await expect(deposit()).rejects.toMatchObject({ code: 'LEDGER_REFUSED', details: { reason: 'OTHER' } });
    faults = (_method, _n, call) => (call?.kind === 'mint' ? 'refused' : null);
    const input = depositInput(platform);
    const stuck = await deposit(input);
    faults = () => null;
    expect(stuck).toMatchObject({ state: 'NEEDS_REVIEW' });
    const [mint] = await database.handle.db
      .select()
      .from(submissions)
      .where(eq(submissions.targetId, stuck.id))
      .orderBy(submissions.createdAt)
      .offset(1);
    const decision = { submissionId: mint?.id ?? '', decision: 'RESUME', reason: 'unpaused' } as const;
    await decideSubmission(platform.dependencies, 'operator', decision);
    expect(await deposit(input)).toMatchObject({ id: stuck.id, state: 'ACTIVE' });
    expect(await network.totalSupply(stuck.tokenAddress ?? '')).toBe(toBaseUnits(1000n));
  });

  it('leaves the mints of projects to projects', async () => {
    const project = await openProject(platform, 5n);
    expect(await network.totalSupply(project.tokenAddress)).toBe(toBaseUnits(5n));
  });
});

describe('the database', () => {
  it('refuses to change what a receipt is, to delete it, and moves that its life does not have', async () => {
    const { id } = await activeReceipt(platform);
    const { sql } = database.handle;
    await expect(sql`UPDATE receipts SET quantity_kg = 1 WHERE id = ${id}`).rejects.toThrow('fixed');
    await expect(sql`UPDATE receipts SET token_address = 'x' WHERE id = ${id}`).rejects.toThrow('set once');
    await expect(sql`UPDATE receipts SET state = 'MINTING' WHERE id = ${id}`).rejects.toThrow("can't go");
    await expect(sql`DELETE FROM receipts WHERE id = ${id}`).rejects.toThrow('append-only');
  });
});
