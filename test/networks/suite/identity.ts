/**
 * The network's identity, its addresses, its ledgers, and the results of a deploy.
 */
import { describe, expect, it } from 'vitest';
import {
  deploy,
  deployCarbon,
  deployReceipt,
  freshSalt,
  land,
  prepare,
  prepareAll,
  refusalOf,
  settled,
} from '../../../devnet/calls.ts';
import type { Address, LedgerNetwork, NetworkCall } from '../../../src/ledger/network/port.ts';
import type { NetworkTraits, UnderTest } from './network.ts';

export function describeIdentity(underTest: UnderTest, traits: NetworkTraits): void {
  describe('identity', () => {
    it('names the network and its signer the same way from every instance', () => {
      const { network, twin, stranger } = underTest();
      expect(network.name).not.toBe('');
      expect(network.networkId).not.toBe('');
      expect([twin.name, twin.networkId]).toEqual([network.name, network.networkId]);
      expect(twin.custodyAddress).toBe(network.custodyAddress);
      expect(stranger.networkId).toBe(network.networkId);
      expect(stranger.custodyAddress).not.toBe(network.custodyAddress);
    });

    it('knows its own addresses and no others', () => {
      const { network, freshAddress } = underTest();
      const address = freshAddress();
      expect(network.normalizeAddress(address)).toBe(address);
      expect(network.normalizeAddress(network.custodyAddress)).toBe(network.custodyAddress);
      for (const text of ['', 'custody', '0x12', `${address}A`, address.slice(1), 'a'.repeat(10_000)]) {
        expect(network.normalizeAddress(text)).toBeNull();
      }
    });

    it('closes ledgers: numbers rise with landed transactions, and time with time', async () => {
      const { network, twin, advanceClock } = underTest();
      const before = await network.status();
      expect(before.oldestLedger).toBeLessThanOrEqual(before.ledger);
      await deploy(network, deployCarbon());
      const after = await twin.status();
      expect(after.ledger).toBeGreaterThan(before.ledger);
      expect(after.closedAt).toBeGreaterThanOrEqual(before.closedAt);
      await advanceClock(100);
      expect((await network.status()).closedAt).toBeGreaterThanOrEqual(after.closedAt + 100n);
    });
  });

  describe('deploys', () => {
    it('puts each template where it says, and custody finds it again', async () => {
      const { network, twin, stranger } = underTest();
      const { ledger } = await network.status();
      const foreignAddress = await deploy(stranger, deployCarbon());
      const carbon = deployCarbon();
      const receipt = deployReceipt(1_800_000_000n);
      const deployed = await settledDeploy(network, carbon);
      const carbonAddress = deployed.address;
      const receiptAddress = await deploy(network, receipt);
      expect(await network.findToken(carbon)).toBe(carbonAddress);
      expect(await network.findToken(receipt)).toBe(receiptAddress);
      expect(await twin.findToken(carbon)).toBe(carbonAddress);
      expect(await network.findToken(deployCarbon())).toBeNull();
      const own = await network.tokensDeployedSince(ledger);
      expect(own).toEqual(expect.arrayContaining([carbonAddress, receiptAddress]));
      expect(own).not.toContain(foreignAddress);
      expect(await network.tokensDeployedSince(deployed.ledger)).toContain(carbonAddress);
      expect(await network.tokensDeployedSince(deployed.ledger + 1n)).not.toContain(carbonAddress);
      expect(await network.tokensDeployedSince(null)).toEqual(expect.arrayContaining([...own]));
      expect(await network.tokensDeployedSince((await network.status()).ledger + 1n)).toEqual([]);
      expect(await network.carbonTotals(carbonAddress)).toMatchObject({ totalRetirements: 0 });
      expect(await network.expiryOf([receiptAddress])).toMatchObject([{ status: 'DRAFT' }]);
      expect(await network.totalSupply(carbonAddress)).toBe(0n);
    });

    it('takes a token for custody’s own only if custody deployed it, also where a salt is the same', async () => {
      const { network, stranger } = underTest();
      const carbon = deployCarbon();
      await deploy(stranger, carbon);
      expect(await network.findToken(carbon)).toBeNull();
      const settlement = { kind: 'deployRampSettlement', salt: freshSalt() } as const;
      await deploy(stranger, { ...settlement, treasury: network.custodyAddress });
      expect((await stranger.findSettlement(settlement))?.treasury).toBe(network.custodyAddress);
      const found = await network.findSettlement(settlement);
      expect(found?.address).not.toBe((await stranger.findSettlement(settlement))?.address);
    });

    it('gives the signer the admin’s roles, and a stranger none', async () => {
      const { network, stranger } = underTest();
      const tokenAddress = await deploy(network, deployCarbon());
      const mint = { kind: 'mint', tokenAddress, to: stranger.custodyAddress, amount: 1n } as const;
      expect((await refusalOf(prepare(stranger, mint))).reason).toBe('UNAUTHORIZED');
      expect(await land(network, mint)).toEqual({ kind: 'done' });
    });

    if (traits.addressesArePredicted) {
      it('accepts each salt once: a second deploy is refused, and so is one already signed', async () => {
        const { network } = underTest();
        const call = deployCarbon();
        const [first, second] = await prepareAll(network, [call, call]);
        expect(first.hash).not.toBe(second.hash);
        await network.broadcast(first.signedBytes);
        await network.broadcast(second.signedBytes);
        const outcomes = [await settled(network, first), await settled(network, second)];
        expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['refused', 'succeeded']);
        const refused = outcomes.find((outcome) => outcome.status === 'refused');
        expect(refused).toMatchObject({ refusal: { reason: 'SALT_ALREADY_USED' } });
        expect((await refusalOf(prepare(network, call))).reason).toBe('SALT_ALREADY_USED');
        const receipt = { ...deployReceipt(1_800_000_000n), salt: call.salt };
        expect((await refusalOf(prepare(network, receipt))).reason).toBe('SALT_ALREADY_USED');
      });
    }
  });
}

async function settledDeploy(
  network: LedgerNetwork,
  call: NetworkCall,
): Promise<{ address: Address; ledger: bigint }> {
  const prepared = await prepare(network, call);
  await network.broadcast(prepared.signedBytes);
  const outcome = await settled(network, prepared);
  if (outcome.status !== 'succeeded' || outcome.result.kind !== 'deployed') throw new Error('not deployed');
  return { address: outcome.result.contractAddress, ledger: outcome.ledger };
}
