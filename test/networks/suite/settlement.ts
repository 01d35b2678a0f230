/**
 * The settlement contract: a reference is used once, and a deposit goes to the treasury or back, never both.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Address, LedgerNetwork, SettlementContract } from '../../../src/ledger/network/port.ts';
import {
  TONNE,
  deploy,
  deployReceipt,
  freshSalt,
  land,
  prepare,
  prepareAll,
  refusalOf,
  settled,
} from '../../../devnet/calls.ts';
import type { UnderTest } from './network.ts';
import { depositInUse } from '../../support/depositInUse.ts';

/** @returns a receipt with 1000 base units in custody, and the settlement contract in use */
async function openReceipt(
  network: LedgerNetwork,
): Promise<{ tokenAddress: Address; settlement: SettlementContract }> {
  const settlement = await network.settlementContract();
  if (!settlement) throw new Error('There is no settlement contract');
  const tokenAddress = await deploy(network, deployReceipt(4_000_000_000n));
  await land(network, { kind: 'mint', tokenAddress, to: network.custodyAddress, amount: 1000n });
  return { tokenAddress, settlement };
}

export function describeSettlement(underTest: UnderTest): void {
  describe('ramp settlement', () => {
    it('is there from the start, running, with a treasury', async () => {
      const { network, twin } = underTest();
      const settlement = await network.settlementContract();
      expect(settlement?.paused).toBe(false);
      expect(network.normalizeAddress(settlement?.address ?? '')).toBe(settlement?.address);
      expect(network.normalizeAddress(settlement?.treasury ?? '')).toBe(settlement?.treasury);
      expect(await twin.settlementContract()).toEqual(settlement);
    });

    it('refunds a deposit to its depositor, once', async () => {
      const { network } = underTest();
      const { tokenAddress, settlement } = await openReceipt(network);
      const sessionId = randomUUID();
      expect(await depositInUse(network, sessionId)).toBeNull();
      await land(network, { kind: 'depositOffRamp', sessionId, tokenAddress, amount: 400n });
      const deposit = {
        depositor: network.custodyAddress,
        tokenAddress,
        amount: 400n,
      };
      expect(await depositInUse(network, sessionId)).toEqual({ ...deposit, status: 'PENDING' });
      expect(await network.balanceOf(tokenAddress, network.custodyAddress)).toBe(600n);
      expect(await network.balanceOf(tokenAddress, settlement.address)).toBe(400n);

      await land(network, { kind: 'refundOffRamp', sessionId });
      expect(await depositInUse(network, sessionId)).toEqual({ ...deposit, status: 'REFUNDED' });
      expect(await network.balanceOf(tokenAddress, network.custodyAddress)).toBe(1000n);
      expect(await network.balanceOf(tokenAddress, settlement.address)).toBe(0n);
      for (const kind of ['refundOffRamp', 'confirmOffRampSettlement'] as const) {
        expect((await refusalOf(prepare(network, { kind, sessionId }))).reason).toBe('WRONG_STATUS');
      }
    });

    it('confirms a stranger’s deposit to the treasury, by the settler alone', async () => {
      const { network, stranger } = underTest();
      const { tokenAddress, settlement } = await openReceipt(network);
      await land(network, { kind: 'mint', tokenAddress, to: stranger.custodyAddress, amount: 300n });
      const { treasury } = settlement;
      if (treasury === null) throw new Error('The settlement contract does not show its treasury');
      const treasuryBefore = await network.balanceOf(tokenAddress, treasury);
      const sessionId = randomUUID();
      await land(stranger, { kind: 'depositOffRamp', sessionId, tokenAddress, amount: 300n });
      expect((await depositInUse(network, sessionId))?.depositor).toBe(stranger.custodyAddress);
      const confirm = { kind: 'confirmOffRampSettlement', sessionId } as const;
      expect((await refusalOf(prepare(stranger, confirm))).reason).toBe('UNAUTHORIZED');
      await land(network, confirm);
      expect((await depositInUse(network, sessionId))?.status).toBe('SETTLED');
      expect(await network.balanceOf(tokenAddress, treasury)).toBe(treasuryBefore + 300n);
      expect(await network.balanceOf(tokenAddress, stranger.custodyAddress)).toBe(0n);
    });

    it('holds the largest deposit to the last digit', async () => {
      const { network } = underTest();
      const { tokenAddress } = await openReceipt(network);
      const amount = (2n ** 63n - 1n) * TONNE - 1n;
      await land(network, { kind: 'mint', tokenAddress, to: network.custodyAddress, amount });
      const sessionId = randomUUID();
      await land(network, { kind: 'depositOffRamp', sessionId, tokenAddress, amount });
      expect((await depositInUse(network, sessionId))?.amount).toBe(amount);
    });

    it('says whether a deposit would be taken, whatever is allowed so far', async () => {
      const { network, stranger, setPaused } = underTest();
      const { tokenAddress, settlement } = await openReceipt(network);
      const sessionId = randomUUID();
      const deposit = { kind: 'depositOffRamp', sessionId, tokenAddress, amount: 1000n } as const;
      const check = (call: typeof deposit | (Omit<typeof deposit, 'amount'> & { amount: bigint })) =>
        network.checkDeposit(call, network.custodyAddress);
      await check(deposit);
      const reasonOf = async (checked: Promise<void>) => (await refusalOf(checked)).reason;
      expect(await reasonOf(check({ ...deposit, amount: 1001n }))).toBe('INSUFFICIENT_BALANCE');
      const byStranger = network.checkDeposit(deposit, stranger.custodyAddress);
      expect(await reasonOf(byStranger)).toBe('INSUFFICIENT_BALANCE');
      await setPaused(settlement.address, true);
      expect(await reasonOf(check(deposit))).toBe('PAUSED');
      await setPaused(settlement.address, false);
      await land(network, deposit);
      expect(await reasonOf(check({ ...deposit, amount: 1n }))).toBe('REFERENCE_ALREADY_USED');
    });

    it('uses each reference once, and takes no more than the depositor holds', async () => {
      const { network } = underTest();
      const { tokenAddress } = await openReceipt(network);
      const sessionId = randomUUID();
      const deposit = { kind: 'depositOffRamp', sessionId, tokenAddress } as const;
      expect((await refusalOf(prepare(network, { ...deposit, amount: 0n }))).reason).toBe('ZERO_AMOUNT');
      if (network.depositsNeedAllowance) {
        await land(network, { kind: 'setAllowance', tokenAddress, amount: 1001n });
      }
      const short = await refusalOf(prepare(network, { ...deposit, amount: 1001n }));
      expect(short.reason).toBe('INSUFFICIENT_BALANCE');
      await land(network, { ...deposit, amount: 10n });
      expect((await refusalOf(prepare(network, { ...deposit, amount: 10n }))).reason).toBe(
        'REFERENCE_ALREADY_USED',
      );
      await land(network, { kind: 'refundOffRamp', sessionId });
      expect((await refusalOf(prepare(network, { ...deposit, amount: 10n }))).reason).toBe(
        'REFERENCE_ALREADY_USED',
      );
    });

    it('refuses to resolve what was never deposited', async () => {
      const { network } = underTest();
      const sessionId = randomUUID();
      for (const kind of ['confirmOffRampSettlement', 'refundOffRamp'] as const) {
        expect((await refusalOf(prepare(network, { kind, sessionId }))).reason).toBe('WRONG_STATUS');
      }
    });

    it('resolves once when confirm and refund race', async () => {
      const { network, twin } = underTest();
      const { tokenAddress, settlement } = await openReceipt(network);
      const sessionId = randomUUID();
      await land(network, { kind: 'depositOffRamp', sessionId, tokenAddress, amount: 50n });
      const [confirm, refund] = await prepareAll(network, [
        { kind: 'confirmOffRampSettlement', sessionId },
        { kind: 'refundOffRamp', sessionId },
      ]);
      await Promise.all([network.broadcast(confirm.signedBytes), twin.broadcast(refund.signedBytes)]);
      const outcomes = [await settled(network, confirm), await settled(twin, refund)];
      expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['refused', 'succeeded']);
      expect(await network.balanceOf(tokenAddress, settlement.address)).toBe(0n);
    });

    it('takes no deposits while paused, and lets out nothing of what it holds', async () => {
      const { network, setPaused } = underTest();
      const { tokenAddress, settlement } = await openReceipt(network);
      const held = randomUUID();
      await land(network, { kind: 'depositOffRamp', sessionId: held, tokenAddress, amount: 1n });
      await setPaused(settlement.address, true);
      expect((await network.settlementContract())?.paused).toBe(true);
      const deposit = { kind: 'depositOffRamp', sessionId: randomUUID(), tokenAddress, amount: 1n } as const;
      expect((await refusalOf(prepare(network, deposit))).reason).toBe('PAUSED');
      for (const kind of ['confirmOffRampSettlement', 'refundOffRamp'] as const) {
        expect((await refusalOf(prepare(network, { kind, sessionId: held }))).reason).toBe('PAUSED');
      }
      await setPaused(settlement.address, false);
      await land(network, { kind: 'refundOffRamp', sessionId: held });
      await land(network, deposit);
    });

    it('lets out nothing of a paused token, and does once it runs again', async () => {
      const { network, setPaused } = underTest();
      const { tokenAddress } = await openReceipt(network);
      const sessionId = randomUUID();
      await land(network, { kind: 'depositOffRamp', sessionId, tokenAddress, amount: 1n });
      await setPaused(tokenAddress, true);
      for (const kind of ['confirmOffRampSettlement', 'refundOffRamp'] as const) {
        expect((await refusalOf(prepare(network, { kind, sessionId }))).reason).toBe('PAUSED');
      }
      await setPaused(tokenAddress, false);
      await land(network, { kind: 'confirmOffRampSettlement', sessionId });
      expect((await depositInUse(network, sessionId))?.status).toBe('SETTLED');
    });

    it('deploys a further settlement contract, and custody finds it again', async () => {
      const { network, twin, stranger, freshAddress } = underTest();
      const call = { kind: 'deployRampSettlement', salt: freshSalt(), treasury: freshAddress() } as const;
      const foreignAddress = await deploy(stranger, { ...call, salt: freshSalt() });
      expect(await network.findSettlement(call)).toBeNull();
      const address = await deploy(network, call);
      expect(network.normalizeAddress(address)).toBe(address);
      expect(address).not.toBe((await network.settlementContract())?.address);
      for (const instance of [network, twin]) {
        expect(await instance.findSettlement(call)).toEqual({
          address,
          treasury: call.treasury,
          paused: false,
        });
      }
      expect(address).not.toBe(foreignAddress);
    });
  });
}
