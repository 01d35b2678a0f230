/**
 * Retirements by holders who have their own wallet.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { readProjectBalances } from '../../../src/ledger/books/readBalances.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { findHolderAct } from '../../../src/resolvers/wallets/findHolderAct.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import {
  prepareRetirement,
  type PrepareRetirementInput,
} from '../../../src/resolvers/wallets/prepareRetirement.ts';
import { readAllRecords, readRegistry } from '../../../src/resolvers/carbon/readRegistry.ts';
import { submitSigned } from '../../../src/resolvers/wallets/submitSigned.ts';
import { openProject } from '../../../devnet/platform.ts';
import { CALLER, EVENTUALLY, signAndSubmit, type InWorld } from './walletWorld.ts';
import type { Holder } from '../../../devnet/world.ts';

export function retirementInput(
  tokenAddress: string,
  holder: Holder,
  overrides: Partial<PrepareRetirementInput> = {},
): PrepareRetirementInput {
  return {
    tokenAddress,
    amountCO2e: 5n,
    holder: holder.address,
    beneficiary: 'Ünïted Øil 🌍',
    note: 'flight 7',
    idempotencyKey: randomUUID(),
    ...overrides,
  };
}

export function describeWalletRetirements(inWorld: InWorld): void {
  describe('retirements', () => {
    let project: TokenizedProject;
    let holder: Holder;
    beforeAll(async () => {
      const { platform, createHolder, giveCredits } = inWorld();
      project = await openProject(platform, 1000n);
      holder = await createHolder();
      await giveCredits(project.tokenAddress, holder.address, 100n);
    });

    const prepare = (overrides: Partial<PrepareRetirementInput> = {}) =>
      prepareRetirement(
        inWorld().platform.dependencies,
        CALLER,
        retirementInput(project.tokenAddress, holder, overrides),
      );
    const records = async () => {
      const { dependencies } = inWorld().platform;
      const registry = await readRegistry(dependencies, project.tokenAddress, 'test');
      return registry === null ? [] : readAllRecords(dependencies, registry);
    };
    const reconciliationFindings = async () => (await reconcileAll(inWorld().platform.dependencies)).findings;

    it('burn what the holder has, by the holder, and touch no books', async () => {
      const { platform, network } = inWorld();
      const { db } = platform.dependencies;
      const books = await readProjectBalances({ db }, [project.id]);
      const findings = await reconciliationFindings();
      const before = await network.balanceOf(project.tokenAddress, holder.address);

      const act = await prepare();
      expect(act).toMatchObject({ state: 'PREPARED', kind: 'retire', submission: null, preparedBy: CALLER });
      const landed = await signAndSubmit(inWorld(), holder, act);
      expect(landed).toMatchObject({ state: 'LANDED' });

      expect(await network.balanceOf(project.tokenAddress, holder.address)).toBe(before - toBaseUnits(5n));
      const record = async () => (await records())[landed.recordIndex ?? -1];
      expect(await record()).toMatchObject({
        retiredBy: holder.address,
        amountBaseUnits: toBaseUnits(5n),
        beneficiary: 'Ünïted Øil 🌍',
        note: 'flight 7',
      });
      await expect.poll(async () => (await record())?.txHash, EVENTUALLY).toBe(landed.submission?.txHash);
      expect(await readProjectBalances({ db }, [project.id])).toEqual(books);
      // The reconciliation finds only that the holder was given credits outside of the product.
      expect(await reconciliationFindings()).toEqual(findings);
    });

    it('happen once, however often the same bytes come back', async () => {
      const { platform } = inWorld();
      const before = (await records()).length;
      const act = await prepare();
      const signed = await holder.sign(act.unsigned);
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => submitSigned(platform.dependencies, act, signed)),
      );
      const again = await submitSigned(platform.dependencies, answers[0] ?? act, signed);
      for (const answer of [...answers, again]) {
        expect(answer).toMatchObject({ state: 'LANDED', recordIndex: answers[0]?.recordIndex });
      }
      expect(await records()).toHaveLength(before + 1);
    });

    it('take nothing but that very act, signed by its holder', async () => {
      const { platform, createHolder } = inWorld();
      const [act, other] = [await prepare(), await prepare({ amountCO2e: 6n })];
      const stranger = await createHolder();
      const wrong = [
        await holder.sign(other.unsigned),
        await stranger.sign(act.unsigned),
        'AAAA',
        '0x00',
        `${await holder.sign(act.unsigned)}00`,
      ];
      for (const signed of wrong) {
        await expect(submitSigned(platform.dependencies, act, signed)).rejects.toMatchObject({
          code: 'BAD_USER_INPUT',
          details: { field: 'input.signed', reason: 'NOT_AS_PREPARED' },
        });
      }
      expect(await findHolderAct(platform.dependencies, act.id)).toMatchObject({ state: 'PREPARED' });
    });

    it('are prepared once for a key, and refused for a holder who can’t sign or has too little', async () => {
      const { network, createHolder } = inWorld();
      const idempotencyKey = randomUUID();
      const first = await prepare({ idempotencyKey });
      expect(await prepare({ idempotencyKey })).toEqual(first);
      await expect(prepare({ idempotencyKey, amountCO2e: 6n })).rejects.toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
      });
      await expect(prepare({ amountCO2e: 1000n })).rejects.toMatchObject({
        code: 'INSUFFICIENT_BALANCE',
        details: { requested: '1000' },
      });
      const poor = await createHolder();
      await expect(prepare({ holder: poor.address })).rejects.toMatchObject({
        code: 'INSUFFICIENT_BALANCE',
        details: { available: '0' },
      });
      for (const wrong of [network.custodyAddress, 'no-address']) {
        await expect(prepare({ holder: wrong })).rejects.toMatchObject({
          code: 'BAD_USER_INPUT',
          details: { field: 'input.holderAddress' },
        });
      }
      await expect(prepare({ tokenAddress: network.custodyAddress })).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
    });
  });
}
