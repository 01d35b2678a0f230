/**
 * Only final facts cross the port: no read and no refusal is of a state that the network may still undo.
 */
import { describe, expect, it } from 'vitest';
import { NetworkRefusal } from '../../../src/ledger/network/port.ts';
import type { LedgerNetwork, Outcome, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { TONNE, land, mintedCarbon, prepare, retire, settled } from '../../../devnet/calls.ts';
import type { UnderTest } from './network.ts';

/** Longer than any network of the tests needs until a ledger is final. */
const FINAL_WITHIN_MS = 30_000;

export function describeFinality(underTest: UnderTest): void {
  describe('finality', () => {
    it('shows no effect of a transaction, and refuses nothing for it, before its outcome', async () => {
      const { network, twin } = underTest();
      const tokenAddress = await mintedCarbon(network, 1n);
      const all = retire(tokenAddress, TONNE);
      const prepared = await prepare(network, all);
      await network.broadcast(prepared.signedBytes);
      const seen = await readUntilDecided(network, prepared, async () => ({
        totals: await twin.carbonTotals(tokenAddress),
        records: (await twin.retirementRecords(tokenAddress, 0, 1)).records.length,
        balance: await twin.balanceOf(tokenAddress, network.custodyAddress),
        refused: await isRefused(network.draft(all)),
      }));
      for (const { read, outcome } of seen) {
        // The outcome was asked for after the reads, so what they showed was final by then.
        if (outcome.status !== 'pending') continue;
        expect(read).toEqual({
          totals: { totalSupply: TONNE, totalRetired: 0n, totalRetirements: 0 },
          records: 0,
          balance: TONNE,
          refused: false,
        });
      }
      expect(seen.at(-1)?.outcome).toMatchObject({ status: 'succeeded' });
      expect(await isRefused(network.draft(all))).toBe(true);
    });

    it('decides no transaction in a ledger above the final one', async () => {
      const { network } = underTest();
      const tokenAddress = await mintedCarbon(network, 1n);
      const prepared = await prepare(network, retire(tokenAddress, TONNE));
      await network.broadcast(prepared.signedBytes);
      const outcome = await settled(network, prepared);
      if (outcome.status !== 'succeeded') throw new Error(`it is ${outcome.status}`);
      expect((await network.status()).ledger).toBeGreaterThanOrEqual(outcome.ledger);
    });

    it('counts a sequence as used by what waits or landed, and as finally used with the outcome', async () => {
      const { network } = underTest();
      const { signingOrder } = network;
      if (signingOrder === null) {
        expect(await network.nextSequences('final')).toEqual(new Map());
        return;
      }
      const tokenAddress = await mintedCarbon(network, 2n);
      await land(network, retire(tokenAddress, TONNE));
      const prepared = await prepare(network, retire(tokenAddress, TONNE));
      const { source, sequence } = prepared;
      const next = async (by: 'latest' | 'final' | 'waiting') =>
        (await network.nextSequences(by)).get(source);
      for (const by of ['latest', 'final', 'waiting'] as const) expect(await next(by)).toBe(sequence);
      await network.broadcast(prepared.signedBytes);
      const showsWaiting = signingOrder.landsUnseenForSeconds === undefined;
      if (showsWaiting) expect(await next('waiting')).toBe((sequence ?? 0n) + 1n);
      const seen = await readUntilDecided(network, prepared, () => next('final'));
      for (const { read, outcome } of seen) {
        if (outcome.status === 'pending') expect(read).toBe(sequence);
      }
      for (const by of ['latest', 'final', 'waiting'] as const) {
        expect(await next(by)).toBe((sequence ?? 0n) + 1n);
      }
    });
  });
}

/** Reads, and then asks for the outcome, until the network has decided. */
async function readUntilDecided<T>(
  network: LedgerNetwork,
  sent: PreparedTransaction,
  read: () => Promise<T>,
): Promise<{ read: T; outcome: Outcome }[]> {
  const giveUpAt = Date.now() + FINAL_WITHIN_MS;
  const seen: { read: T; outcome: Outcome }[] = [];
  for (;;) {
    const one = { read: await read(), outcome: await network.outcome(sent) };
    seen.push(one);
    if (one.outcome.status !== 'pending' || Date.now() > giveUpAt) return seen;
  }
}

/** An answer that decides nothing is no refusal. */
function isRefused(draft: Promise<unknown>): Promise<boolean> {
  return draft.then(
    () => false,
    (error: unknown) => error instanceof NetworkRefusal,
  );
}
