/**
 * Writes in two phases: a signed transaction lands at most once, or can be proved never to land.
 */
import { describe, expect, it } from 'vitest';
import type { PreparedTransaction } from '../../../src/ledger/network/port.ts';
import {
  TONNE,
  deployCarbon,
  land,
  mintedCarbon,
  prepare,
  prepareAll,
  retire,
  settled,
  signLater,
} from '../../../devnet/calls.ts';
import type { NetworkTraits, UnderTest } from './network.ts';

export function describeTransactions(underTest: UnderTest, traits: NetworkTraits): void {
  describe('two-phase writes', () => {
    it('prepares without effect: a hash and bytes, pending until they are sent', async () => {
      const { network, twin } = underTest();
      const before = await network.status();
      const prepared = await prepare(network, deployCarbon());
      expect(prepared.hash).toMatch(/^(0x)?[0-9a-f]{64}$/);
      expect(prepared.signedBytes.length).toBeGreaterThan(64);
      expect(network.signingOrder?.accounts ?? [network.custodyAddress]).toContain(prepared.source);
      expect(prepared.sequence === null).toBe(network.signingOrder === null);
      expect(prepared.validUntil !== null).toBe(traits.bytesExpire);
      expect(prepared.preparedAtLedger).toBeGreaterThanOrEqual(before.ledger);
      expect(await network.outcome(prepared)).toEqual({ status: 'pending' });
      expect(await twin.outcome(prepared)).toEqual({ status: 'pending' });
      // Another instance than the one that signed sends and settles it.
      expect(await twin.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
      expect(await settled(network, prepared)).toMatchObject({ status: 'succeeded' });
    });

    it('answers with the ledger and the result, the same for ever', async () => {
      const { network, twin } = underTest();
      const tokenAddress = await mintedCarbon(network, 10n);
      const prepared = await prepare(network, retire(tokenAddress, 2n * TONNE));
      await network.broadcast(prepared.signedBytes);
      const outcome = await settled(network, prepared);
      expect(outcome).toMatchObject({ status: 'succeeded', result: { kind: 'retired', retirementIndex: 0 } });
      if (outcome.status !== 'succeeded') throw new Error('not reached');
      expect(outcome.ledger).toBeGreaterThan(0n);
      await land(network, retire(tokenAddress, TONNE));
      expect(await twin.outcome(prepared)).toEqual(outcome);
    });

    it('lands the same bytes once, however often and from wherever they are sent', async () => {
      const { network, twin } = underTest();
      const tokenAddress = await mintedCarbon(network, 10n);
      const prepared = await prepare(network, retire(tokenAddress, 3n * TONNE));
      const senders = [network, twin, network, twin, network, twin];
      const answers = await Promise.all(senders.map((sender) => sender.broadcast(prepared.signedBytes)));
      expect(answers).toEqual(senders.map(() => ({ status: 'accepted' })));
      expect(await settled(network, prepared)).toMatchObject({ status: 'succeeded' });
      expect(await network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
      expect(await network.carbonTotals(tokenAddress)).toEqual({
        totalSupply: 7n * TONNE,
        totalRetired: 3n * TONNE,
        totalRetirements: 1,
      });
    });

    it('replaces nothing that has landed', async () => {
      const { network } = underTest();
      const tokenAddress = await mintedCarbon(network, 1n);
      const prepared = await prepare(network, retire(tokenAddress, TONNE));
      await network.broadcast(prepared.signedBytes);
      await settled(network, prepared);
      expect(await network.replace(prepared)).toBeNull();
    });

    it('lands one of two calls that were signed in one slot, and proves the other one dead by it', async () => {
      const { network, twin, advanceClock } = underTest();
      if (network.signingOrder === null) return;
      const tokenAddress = await mintedCarbon(network, 10n);
      const drafts = await Promise.all(
        [1n, 2n].map((tonnes) => network.draft(retire(tokenAddress, tonnes * TONNE))),
      );
      const [first, second] = await Promise.all(drafts.map((draft) => signLater(network, draft)));
      if (first === undefined || second === undefined) throw new Error('not reached');
      expect(second.sequence).toBe(first.sequence);
      expect(second.hash).not.toBe(first.hash);
      await network.broadcast(first.signedBytes);
      await network.broadcast(second.signedBytes);
      expect(await settled(network, first)).toMatchObject({ status: 'succeeded' });
      await advanceClock(1_000_000);
      expect(await twin.outcome(second)).toMatchObject({ status: 'dead', usedBy: first.hash });
      expect((await network.carbonTotals(tokenAddress)).totalRetired).toBe(TONNE);
    });

    it('makes two transactions of the same call prepared twice', async () => {
      const { network } = underTest();
      const tokenAddress = await mintedCarbon(network, 10n);
      const first = await prepare(network, retire(tokenAddress, TONNE));
      await network.broadcast(first.signedBytes);
      await settled(network, first);
      const second = await prepare(network, retire(tokenAddress, TONNE));
      expect(second.hash).not.toBe(first.hash);
      await network.broadcast(second.signedBytes);
      await settled(network, second);
      expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(2);
    });

    it('refuses bytes that were changed, cut, or never signed', async () => {
      const { network } = underTest();
      const tokenAddress = await mintedCarbon(network, 10n);
      const { signedBytes } = await prepare(network, retire(tokenAddress, TONNE));
      for (const at of [0, Math.floor(signedBytes.length / 2), signedBytes.length - 1]) {
        const changed = Uint8Array.from(signedBytes);
        changed[at] = (changed[at] ?? 0) ^ 1;
        expect(await network.broadcast(changed)).toMatchObject({ status: 'refused' });
      }
      expect(await network.broadcast(signedBytes.subarray(0, 80))).toMatchObject({ status: 'refused' });
      expect(await network.broadcast(new Uint8Array())).toMatchObject({ status: 'refused' });
      expect(await network.broadcast(new Uint8Array(100_000))).toMatchObject({ status: 'refused' });
      expect((await network.carbonTotals(tokenAddress)).totalRetired).toBe(0n);
    });

    it('records a landed refusal as final, without any other effect', async () => {
      const { network } = underTest();
      const tokenAddress = await mintedCarbon(network, 10n);
      const both = await prepareAll(network, [
        retire(tokenAddress, 6n * TONNE),
        retire(tokenAddress, 6n * TONNE),
      ]);
      for (const prepared of both) {
        expect(await network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
      }
      const outcomes = [await settled(network, both[0]), await settled(network, both[1])];
      expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['refused', 'succeeded']);
      const refused = outcomes.find((outcome) => outcome.status === 'refused');
      expect(refused).toMatchObject({ refusal: { reason: 'INSUFFICIENT_BALANCE' } });
      expect(await network.balanceOf(tokenAddress, network.custodyAddress)).toBe(4n * TONNE);
      expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
    });
  });

  if (traits.bytesExpire) describeDeath(underTest, traits);
}

function describeDeath(underTest: UnderTest, traits: NetworkTraits): void {
  describe('death', () => {
    it('proves unsent bytes dead once the network’s time has passed, without further transactions', async () => {
      const { network, twin, advanceClock } = underTest();
      const tokenAddress = await mintedCarbon(network, 10n);
      const prepared = await prepare(network, retire(tokenAddress, TONNE));
      const { closedAt } = await network.status();
      expect(await network.outcome(prepared)).toEqual({ status: 'pending' });
      await advanceClock(Number(validUntilOf(prepared) - closedAt) + 1);
      const outcome = await twin.outcome(prepared);
      expect(outcome.status).toBe('dead');
      expect(outcome).toHaveProperty('proof', expect.stringContaining(String(validUntilOf(prepared))));
      // Bytes past their time never land, on any instance, and the outcome stays.
      expect(await network.broadcast(prepared.signedBytes)).toMatchObject({ status: 'refused' });
      expect(await twin.broadcast(prepared.signedBytes)).toMatchObject({ status: 'refused' });
      expect((await network.outcome(prepared)).status).toBe('dead');
      expect((await network.carbonTotals(tokenAddress)).totalRetired).toBe(0n);
      // A new attempt is safe, and lands.
      await land(network, retire(tokenAddress, TONNE));
    });

    it('calls nothing dead at the last moment, when it can still land', async () => {
      const { network, advanceClock } = underTest();
      const tokenAddress = await mintedCarbon(network, 1n);
      const prepared = await prepare(network, retire(tokenAddress, TONNE));
      const left = validUntilOf(prepared) - (await network.status()).closedAt;
      await advanceClock(Number(left) - 3);
      // A step may take the network past the last moment, but not through all tries.
      for (let step = 0; step < 10; step += 1) {
        const outcome = await network.outcome(prepared);
        const { closedAt } = await network.status();
        if (outcome.status === 'dead') {
          expect(closedAt).toBeGreaterThan(validUntilOf(prepared));
          expect(outcome.isUnused).toBe(network.signingOrder === null ? undefined : true);
          return;
        }
        await advanceClock(1);
      }
      throw new Error('it does not die');
    });

    it('refuses bytes past their time even before their outcome was asked for', async () => {
      const { network, advanceClock } = underTest();
      const tokenAddress = await mintedCarbon(network, 10n);
      const prepared = await prepare(network, retire(tokenAddress, TONNE));
      await advanceClock(1_000_000);
      expect(await network.broadcast(prepared.signedBytes)).toMatchObject({ status: 'refused' });
      expect((await network.outcome(prepared)).status).toBe('dead');
    });

    it('never calls a landed transaction dead', async () => {
      const { network, twin, advanceClock } = underTest();
      const tokenAddress = await mintedCarbon(network, 10n);
      const prepared = await prepare(network, retire(tokenAddress, TONNE));
      await network.broadcast(prepared.signedBytes);
      await advanceClock(1_000_000);
      expect(await twin.outcome(prepared)).toMatchObject({ status: 'succeeded' });
      expect(await twin.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    });

    it('lets either the landing or the death win when both are tried at the last moment', async () => {
      const { network, twin, advanceClock } = underTest();
      const tokenAddress = await mintedCarbon(network, 100n);
      const sent = await prepareAll(
        network,
        Array.from({ length: traits.fewSlots ?? 20 }, () => retire(tokenAddress, TONNE)),
      );
      const [answers, outcomes] = await Promise.all([
        Promise.all(sent.map((prepared) => network.broadcast(prepared.signedBytes))),
        advanceClock(1_000_000).then(() => Promise.all(sent.map((prepared) => twin.outcome(prepared)))),
      ]);
      const landed = answers.filter((answer) => answer.status === 'accepted').length;
      expect(outcomes.filter((outcome) => outcome.status === 'succeeded').length).toBe(landed);
      expect(outcomes.filter((outcome) => outcome.status === 'dead').length).toBe(sent.length - landed);
      expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(landed);
    });
  });
}

function validUntilOf(prepared: PreparedTransaction): bigint {
  if (prepared.validUntil === null) throw new Error('The bytes name no last moment');
  return prepared.validUntil;
}
