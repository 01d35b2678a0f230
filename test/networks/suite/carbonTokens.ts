/**
 * Carbon credit tokens: minting, retiring, and the permanent records.
 */
import { describe, expect, it } from 'vitest';
import {
  MAX_RECORDS_PER_READ,
  MAX_TOKENS_PER_READ,
  NetworkRefusal,
} from '../../../src/ledger/network/port.ts';
import {
  TONNE,
  deploy,
  deployCarbon,
  deployReceipt,
  land,
  landAll,
  mintedCarbon,
  prepare,
  refusalOf,
  retire,
  settled,
  signLater,
} from '../../../devnet/calls.ts';
import type { UnderTest } from './network.ts';

export function describeCarbonTokens(underTest: UnderTest): void {
  describe('carbon credits', () => {
    it('mints to any address and burns the signer’s own balance into a record', async () => {
      const { network, freshAddress } = underTest();
      const tokenAddress = await mintedCarbon(network, 1000n);
      const other = freshAddress();
      await land(network, { kind: 'mint', tokenAddress, to: other, amount: 5n });
      expect(await network.balanceOf(tokenAddress, other)).toBe(5n);
      const result = await land(network, retire(tokenAddress, 250n * TONNE, 'a note\nof two lines'));
      expect(result).toEqual({ kind: 'retired', retirementIndex: 0 });
      expect(await network.balanceOf(tokenAddress, network.custodyAddress)).toBe(750n * TONNE);
      expect(await network.totalSupply(tokenAddress)).toBe(750n * TONNE + 5n);
      const page = await network.retirementRecords(tokenAddress, 0, 10);
      expect(page.totals).toEqual({
        totalSupply: 750n * TONNE + 5n,
        totalRetired: 250n * TONNE,
        totalRetirements: 1,
      });
      expect(page.records).toEqual([
        {
          index: 0,
          retiredBy: network.custodyAddress,
          amount: 250n * TONNE,
          timestamp: expect.any(BigInt) as bigint,
          beneficiary: 'Ünïted Øil 🌍',
          note: 'a note\nof two lines',
        },
      ]);
    });

    it('finds which transactions made the records, whatever hints say', async () => {
      const { network } = underTest();
      const tokenAddress = await mintedCarbon(network, 100n);
      const hashes: string[] = [];
      for (const note of ['one', 'two', 'three']) {
        const prepared = await prepare(network, retire(tokenAddress, TONNE, note));
        await network.broadcast(prepared.signedBytes);
        await settled(network, prepared);
        hashes.push(prepared.hash);
      }
      const { records } = await network.retirementRecords(tokenAddress, 0, 10);
      const wanted = (hints: (index: number) => string[]) =>
        records.map(({ index, timestamp }) => ({ index, timestamp, hints: hints(index) }));
      const truth = new Map(hashes.entries());
      const neighbour = (index: number) => hashes[(index + 1) % 3] ?? '';
      const told = (hints: (index: number) => string[]) =>
        network.retirementTransactions(tokenAddress, wanted(hints));
      expect(await told(() => [])).toEqual(truth);
      expect(await told((index) => [hashes[index] ?? ''])).toEqual(truth);
      expect(await told((index) => [neighbour(index)])).toEqual(truth);
      const nonsense = ['', 'not a hash', 'ab'.repeat(32), `0x${'ab'.repeat(32)}`];
      expect(await told(() => nonsense)).toEqual(truth);
      // This record does not exist, and another token has none of the existing ones.
      const missing = { index: 7, timestamp: records[0]?.timestamp ?? 0n, hints: hashes };
      expect(await network.retirementTransactions(tokenAddress, [missing])).toEqual(new Map());
      const other = await mintedCarbon(network, 1n);
      const ofOther = wanted((index) => [hashes[index] ?? '']);
      expect(await network.retirementTransactions(other, ofOther)).toEqual(new Map());
    });

    it('counts the largest amounts to the last digit', async () => {
      const { network } = underTest();
      const tokenAddress = await deploy(network, deployCarbon());
      const huge = (2n ** 63n - 1n) * TONNE;
      await land(network, { kind: 'mint', tokenAddress, to: network.custodyAddress, amount: huge });
      await land(network, retire(tokenAddress, huge - 1n));
      expect(await network.balanceOf(tokenAddress, network.custodyAddress)).toBe(1n);
      const { totals, records } = await network.retirementRecords(tokenAddress, 0, 1);
      expect([totals.totalRetired, records[0]?.amount]).toEqual([huge - 1n, huge - 1n]);
      await land(network, { kind: 'mint', tokenAddress, to: network.custodyAddress, amount: huge - 1n });
      expect(await network.totalSuppliesOf([tokenAddress])).toEqual([{ tokenAddress, amount: huge }]);
      expect(await network.balancesOf([tokenAddress], network.custodyAddress)).toEqual([
        { tokenAddress, amount: huge },
      ]);
    });

    it('refuses a burn of nothing, of less than nothing, and of more than is held', async () => {
      const { network } = underTest();
      const tokenAddress = await mintedCarbon(network, 3n);
      expect((await refusalOf(prepare(network, retire(tokenAddress, 0n)))).reason).toBe('ZERO_AMOUNT');
      await refusalOf(prepare(network, retire(tokenAddress, -1n)));
      const short = await refusalOf(prepare(network, retire(tokenAddress, 4n * TONNE)));
      expect(short.reason).toBe('INSUFFICIENT_BALANCE');
      expect(short.message).toContain(String(3n * TONNE));
      expect(short.message).toContain(String(4n * TONNE));
      expect(await network.carbonTotals(tokenAddress)).toEqual({
        totalSupply: 3n * TONNE,
        totalRetired: 0n,
        totalRetirements: 0,
      });
    });

    it('lets any holder retire, from their own balance alone', async () => {
      const { network, stranger } = underTest();
      const tokenAddress = await mintedCarbon(network, 3n);
      expect((await refusalOf(prepare(stranger, retire(tokenAddress, 1n)))).reason).toBe(
        'INSUFFICIENT_BALANCE',
      );
      await land(network, { kind: 'mint', tokenAddress, to: stranger.custodyAddress, amount: 2n * TONNE });
      await land(stranger, retire(tokenAddress, 2n * TONNE));
      expect(await network.balanceOf(tokenAddress, network.custodyAddress)).toBe(3n * TONNE);
      const { records } = await network.retirementRecords(tokenAddress, 0, 1);
      expect(records[0]?.retiredBy).toBe(stranger.custodyAddress);
    });

    it('stands still while the token is paused', async () => {
      const { network, setPaused } = underTest();
      const tokenAddress = await mintedCarbon(network, 3n);
      const draft = await network.draft(retire(tokenAddress, TONNE));
      await setPaused(tokenAddress, true);
      const signedBefore = await signLater(network, draft);
      expect((await refusalOf(prepare(network, retire(tokenAddress, TONNE)))).reason).toBe('PAUSED');
      await network.broadcast(signedBefore.signedBytes);
      expect(await settled(network, signedBefore)).toMatchObject({
        status: 'refused',
        refusal: { reason: 'PAUSED' },
      });
      await setPaused(tokenAddress, false);
      await land(network, retire(tokenAddress, TONNE));
      expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
    });

    it('knows a carbon credit from a receipt, and from nothing', async () => {
      const { network, freshAddress } = underTest();
      const receipt = await deploy(network, deployReceipt(1_800_000_000n));
      const nowhere = freshAddress();
      expect((await refusalOf(network.carbonTotals(receipt))).reason).toBe('WRONG_TEMPLATE');
      expect((await refusalOf(network.retirementRecords(receipt, 0, 1))).reason).toBe('WRONG_TEMPLATE');
      expect((await refusalOf(prepare(network, retire(receipt, 1n)))).reason).toBe('WRONG_TEMPLATE');
      for (const ask of [
        () => network.carbonTotals(nowhere),
        () => network.retirementRecords(nowhere, 0, 1),
        () => network.totalSupply(nowhere),
        () => network.balanceOf(nowhere, network.custodyAddress),
        () => prepare(network, retire(nowhere, 1n)),
        () => prepare(network, retire('not an address', 1n)),
      ]) {
        expect((await refusalOf(ask())).reason).toBe('CONTRACT_NOT_FOUND');
      }
    });

    describeCrowd(underTest);
  });
}

/** Burns 50 times at once through two instances, then reads the records in pages and in batches. */
function describeCrowd(underTest: UnderTest): void {
  it('retires 50 times at once through two instances: every record once, in one order', async () => {
    const { network, twin } = underTest();
    const tokenAddress = await mintedCarbon(network, 50n);
    await landAll(
      [network, twin],
      Array.from({ length: 50 }, (_, at) => retire(tokenAddress, TONNE, `#${at}`)),
    );
    expect(await network.balanceOf(tokenAddress, network.custodyAddress)).toBe(0n);
    const { totals, records } = await network.retirementRecords(tokenAddress, 0, MAX_RECORDS_PER_READ);
    expect(totals).toEqual({ totalSupply: 0n, totalRetired: 50n * TONNE, totalRetirements: 50 });
    expect(records.map((record) => record.index)).toEqual(Array.from({ length: 50 }, (_, at) => at));
    expect(new Set(records.map((record) => record.note)).size).toBe(50);

    const pages = [
      await twin.retirementRecords(tokenAddress, 0, 20),
      await twin.retirementRecords(tokenAddress, 20, 20),
      await twin.retirementRecords(tokenAddress, 40, 20),
    ];
    expect(pages.flatMap((page) => page.records)).toEqual(records);
    const beyond = await network.retirementRecords(tokenAddress, 50, 20);
    expect(beyond).toEqual({ totals, records: [] });
    expect((await network.retirementRecords(tokenAddress, 2 ** 40, 1)).records).toEqual([]);
    await expect(network.retirementRecords(tokenAddress, 0, MAX_RECORDS_PER_READ + 1)).rejects.toThrow(
      RangeError,
    );
    await expect(network.retirementRecords(tokenAddress, -1, 1)).rejects.toThrow(RangeError);
  });

  it('counts the retirements of many tokens at once, with an error for each bad one alone', async () => {
    const { network, freshAddress } = underTest();
    const idle = await mintedCarbon(network, 1n);
    const busy = await mintedCarbon(network, 2n);
    await land(network, retire(busy, TONNE));
    await land(network, retire(busy, TONNE));
    const receipt = await deploy(network, deployReceipt(1_800_000_000n));
    const nowhere = freshAddress();
    const answers = await network.retirementCountsOf([busy, nowhere, idle, receipt]);
    expect(answers[0]).toEqual({ tokenAddress: busy, totalRetirements: 2 });
    expect(answers[1]).toMatchObject({ tokenAddress: nowhere, error: { reason: 'CONTRACT_NOT_FOUND' } });
    expect(answers[2]).toEqual({ tokenAddress: idle, totalRetirements: 0 });
    expect(answers[3]).toMatchObject({ tokenAddress: receipt, error: { reason: 'WRONG_TEMPLATE' } });
    expect(answers[3]).toHaveProperty('error', expect.any(NetworkRefusal));
    expect(await network.retirementCountsOf([])).toEqual([]);
    const tooMany = Array.from({ length: MAX_TOKENS_PER_READ + 1 }, () => busy);
    await expect(network.retirementCountsOf(tooMany)).rejects.toThrow(RangeError);
  });
}
