/**
 * Commodity receipts: a new receipt is a draft; after its expiry date, by the network's time, it expires.
 */
import { describe, expect, it } from 'vitest';
import { MAX_TOKENS_PER_READ } from '../../../src/ledger/network/port.ts';
import {
  deploy,
  deployCarbon,
  deployReceipt,
  land,
  prepare,
  refusalOf,
  settled,
  signLater,
} from '../../../devnet/calls.ts';
import type { UnderTest } from './network.ts';

export function describeReceipts(underTest: UnderTest): void {
  describe('commodity receipts', () => {
    it('expires by the network’s own time, once the manager marks it', async () => {
      const { network, stranger, advanceClock } = underTest();
      const { closedAt } = await network.status();
      const tokenAddress = await deploy(network, deployReceipt(closedAt + 1000n));
      const markExpired = { kind: 'markExpired', tokenAddress } as const;
      expect(await network.expiryOf([tokenAddress])).toEqual([
        { tokenAddress, isExpired: false, status: 'DRAFT' },
      ]);
      expect((await refusalOf(prepare(network, markExpired))).reason).toBe('NOT_EXPIRED');

      await advanceClock(1001);
      expect(await network.expiryOf([tokenAddress])).toEqual([
        { tokenAddress, isExpired: true, status: 'DRAFT' },
      ]);
      expect((await refusalOf(prepare(stranger, markExpired))).reason).toBe('UNAUTHORIZED');
      expect(await land(network, markExpired)).toEqual({ kind: 'done' });
      expect(await network.expiryOf([tokenAddress])).toEqual([
        { tokenAddress, isExpired: true, status: 'EXPIRED' },
      ]);
    });

    it('asks many at once, and one bad token spoils no other', async () => {
      const { network, freshAddress } = underTest();
      const { closedAt } = await network.status();
      const fresh = await deploy(network, deployReceipt(closedAt + 1_000_000n));
      const due = await deploy(network, deployReceipt(closedAt - 1n));
      const carbon = await deploy(network, deployCarbon());
      const nowhere = freshAddress();
      const answers = await network.expiryOf([fresh, carbon, due, nowhere]);
      expect(answers[0]).toEqual({ tokenAddress: fresh, isExpired: false, status: 'DRAFT' });
      expect(answers[1]).toMatchObject({ tokenAddress: carbon, error: { reason: 'WRONG_TEMPLATE' } });
      expect(answers[2]).toEqual({ tokenAddress: due, isExpired: true, status: 'DRAFT' });
      expect(answers[3]).toMatchObject({ tokenAddress: nowhere, error: { reason: 'CONTRACT_NOT_FOUND' } });
      expect(await network.expiryOf([])).toEqual([]);
      const tooMany = Array.from({ length: MAX_TOKENS_PER_READ + 1 }, () => fresh);
      await expect(network.expiryOf(tooMany)).rejects.toThrow(RangeError);
    });

    it('tells what exists and what is held of many tokens of both templates at once', async () => {
      const { network, freshAddress } = underTest();
      const receipt = await deploy(network, deployReceipt(1_900_000_000n));
      const carbon = await deploy(network, deployCarbon());
      const [holder, nowhere] = [freshAddress(), freshAddress()];
      await land(network, { kind: 'mint', tokenAddress: receipt, to: holder, amount: 5n });
      await land(network, { kind: 'mint', tokenAddress: receipt, to: freshAddress(), amount: 2n });
      const tokens = [receipt, nowhere, carbon];
      const missing = { tokenAddress: nowhere, error: { reason: 'CONTRACT_NOT_FOUND' } };
      expect(await network.totalSuppliesOf(tokens)).toMatchObject([
        { tokenAddress: receipt, amount: 7n },
        missing,
        { tokenAddress: carbon, amount: 0n },
      ]);
      expect(await network.balancesOf(tokens, holder)).toMatchObject([
        { tokenAddress: receipt, amount: 5n },
        missing,
        { tokenAddress: carbon, amount: 0n },
      ]);
      expect([await network.totalSuppliesOf([]), await network.balancesOf([], holder)]).toEqual([[], []]);
      const tooMany = Array.from({ length: MAX_TOKENS_PER_READ + 1 }, () => receipt);
      await expect(network.totalSuppliesOf(tooMany)).rejects.toThrow(RangeError);
      await expect(network.balancesOf(tooMany, holder)).rejects.toThrow(RangeError);
    });

    it('refuses to expire a carbon credit, or nothing', async () => {
      const { network, freshAddress } = underTest();
      const carbon = await deploy(network, deployCarbon());
      const onCarbon = prepare(network, { kind: 'markExpired', tokenAddress: carbon });
      expect((await refusalOf(onCarbon)).reason).toBe('WRONG_TEMPLATE');
      const onNothing = prepare(network, { kind: 'markExpired', tokenAddress: freshAddress() });
      expect((await refusalOf(onNothing)).reason).toBe('CONTRACT_NOT_FOUND');
    });

    it('mints receipt shares to the farmer, also after expiry was drafted', async () => {
      const { network, freshAddress } = underTest();
      const { closedAt } = await network.status();
      const tokenAddress = await deploy(network, deployReceipt(closedAt - 1n));
      const farmer = freshAddress();
      const draft = await network.draft({ kind: 'markExpired', tokenAddress });
      await land(network, { kind: 'mint', tokenAddress, to: farmer, amount: 5000n });
      const marking = await signLater(network, draft);
      await network.broadcast(marking.signedBytes);
      expect(await settled(network, marking)).toMatchObject({
        status: 'succeeded',
        result: { kind: 'done' },
      });
      expect(await network.balanceOf(tokenAddress, farmer)).toBe(5000n);
      expect(await network.totalSupply(tokenAddress)).toBe(5000n);
    });
  });
}
