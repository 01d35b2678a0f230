/**
 * Entries that the network has archived: their records are read all the same, and calls that need them land.
 */
import { FeeBumpTransaction, Keypair, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { NetworkUnavailable, SignerShortOfFunds } from '../../../src/ledger/network/port.ts';
import { readAccounts } from '../../../src/ledger/network/stellar/accounts.ts';
import { instanceKey, retirementKey } from '../../../src/ledger/network/stellar/addresses.ts';
import { createNode } from '../../../src/ledger/network/stellar/node.ts';
import {
  deploy,
  deployReceipt,
  land,
  mintedCarbon,
  prepare,
  retire,
  settled,
  TONNE,
} from '../../../devnet/calls.ts';
import { othersPay } from '../../support/stellar/othersPay.ts';
import { PROTOCOLS, type Protocol } from '../../../devnet/soroban/engine.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import { depositInUse } from '../../support/depositInUse.ts';

let testbed: StellarTestbed;
afterEach(() => testbed.close());

async function open(protocolVersion: Protocol): Promise<string> {
  testbed = await startStellarTestbed({ channels: 2, devnet: { protocolVersion } });
  return mintedCarbon(testbed.network, 10n);
}

/** The call's own transaction, which custody's fee bump pays for. */
function paidByCustody({ signedBytes }: { signedBytes: Uint8Array }, passphrase: string): Transaction {
  const envelope = TransactionBuilder.fromXDR(Buffer.from(signedBytes).toString('base64'), passphrase);
  if (!(envelope instanceof FeeBumpTransaction)) throw new Error('custody does not pay for the call');
  return envelope.innerTransaction;
}

describe('records', () => {
  it('are read in one moment with the totals, also those that are archived', async () => {
    const tokenAddress = await open(28);
    for (const note of ['first', 'second', 'third']) {
      await land(testbed.network, retire(tokenAddress, TONNE, note));
    }
    const before = await testbed.network.retirementRecords(tokenAddress, 0, 200);
    testbed.devnet.controls.archive(retirementKey(tokenAddress, 1));
    expect(await testbed.network.retirementRecords(tokenAddress, 0, 200)).toEqual(before);
    expect((await testbed.network.retirementRecords(tokenAddress, 1, 1)).records).toEqual([
      before.records[1],
    ]);
  });

  it('are never read with a gap: what can’t be read is unknown', async () => {
    const tokenAddress = await open(28);
    for (const note of ['first', 'second']) await land(testbed.network, retire(tokenAddress, TONNE, note));
    // A real network can't lose an entry that it counts, but a node may fail to show the entry.
    testbed.devnet.controls.remove(retirementKey(tokenAddress, 0));
    const read = testbed.network.retirementRecords(tokenAddress, 0, 200);
    await expect(read).rejects.toThrow(NetworkUnavailable);
    expect((await testbed.network.retirementRecords(tokenAddress, 1, 200)).records).toHaveLength(1);
  });
});

describe('calls that need archived entries', () => {
  it.each(PROTOCOLS)('restore them along with themselves, on protocol %i', async (protocolVersion) => {
    const tokenAddress = await open(protocolVersion);
    testbed.devnet.controls.archive(instanceKey(tokenAddress));
    expect(await land(testbed.network, retire(tokenAddress, TONNE))).toEqual({
      kind: 'retired',
      retirementIndex: 0,
    });
  });
});

describe('calls that restore the code of contracts, at the rents and the minimum life of the public network', () => {
  const XLM = 10_000_000n;

  async function spendable(address: string): Promise<bigint> {
    const { byAddress } = await readAccounts(createNode(testbed.options), [address]);
    return byAddress.get(address)?.spendableStroops ?? 0n;
  }

  async function leave(address: string, stroops: bigint): Promise<void> {
    testbed.devnet.fund(address, stroops - (await spendable(address)));
  }

  async function archiveWithCode(contracts: readonly string[]): Promise<void> {
    const { byKey } = await createNode(testbed.options).entries(contracts.map(instanceKey));
    for (const entry of byKey.values()) {
      const hash = entry.contractData().val().instance().executable().wasmHash();
      testbed.devnet.controls.archive(xdr.LedgerKey.contractCode(new xdr.LedgerKeyContractCode({ hash })));
    }
    for (const contract of contracts) testbed.devnet.controls.archive(instanceKey(contract));
  }

  it('land, paid by custody, through channels that have too little for them', async () => {
    testbed = await startStellarTestbed({ channels: 1, devnet: { minPersistentTtlLedgers: 2_073_600 } });
    const { network, settlementAddress } = testbed;
    const custody = testbed.custody.publicKey();
    const channel = testbed.channels[0]?.publicKey() ?? '';
    const tokenAddress = await deploy(network, deployReceipt(4_000_000_000n));
    await land(network, { kind: 'mint', tokenAddress, to: custody, amount: 100n });
    const deposit = { kind: 'depositOffRamp', sessionId: 'a', tokenAddress, amount: 60n } as const;
    await leave(channel, 9n * XLM);
    await leave(custody, 2n * XLM);
    await archiveWithCode([tokenAddress, settlementAddress]);

    const draft = network.draft(deposit);
    await expect(draft).rejects.toThrow(SignerShortOfFunds);
    await expect(draft).rejects.toThrow(
      new RegExp(
        `^${custody} has 2 XLM to spend, and initiate_off_ramp costs up to 2\\d\\.\\d+ XLM: send it at least 2\\d\\.\\d+ XLM$`,
      ),
    );
    testbed.devnet.fund(custody, 40n * XLM);
    expect(await land(network, deposit)).toEqual({ kind: 'done' });
    expect(await depositInUse(network, 'a')).toMatchObject({ status: 'PENDING', amount: 60n });
    expect(await spendable(channel)).toBe(9n * XLM);
    expect(await spendable(custody)).toBeLessThan(30n * XLM);
    // From here on the channel pays its own fees.
    const before = await spendable(custody);
    await land(network, { ...deposit, sessionId: 'b', amount: 1n });
    expect(await spendable(custody)).toBe(before);
    expect(await spendable(channel)).toBeLessThan(9n * XLM);
  });

  it('are paid more for when they are stuck, as any call', async () => {
    const devnet = { minPersistentTtlLedgers: 2_073_600, queueLedgers: 50 };
    testbed = await startStellarTestbed({ channels: 1, devnet });
    const { network } = testbed;
    const { controls } = testbed.devnet;
    const tokenAddress = await mintedCarbon(network, 2n);
    await archiveWithCode([tokenAddress]);
    controls.hold();
    const stuck = await prepare(network, retire(tokenAddress, TONNE));
    const inner = paidByCustody(stuck, testbed.devnet.passphrase);
    expect(inner.hash().toString('hex')).toBe(stuck.hash);
    await network.broadcast(stuck.signedBytes);
    const [first] = controls.waiting();
    await othersPay(testbed, 900);
    controls.passTime(20);
    controls.closeLedger();
    for (let times = 0; times < 2; times += 1) {
      expect(await network.broadcast(stuck.signedBytes)).toEqual({ status: 'accepted' });
      expect(controls.waiting()).toHaveLength(1);
      expect(controls.waiting()).not.toEqual([first]);
      if (times > 0) continue;
      // The node takes the first envelope for a bid that is too low, so until its last moment the second is sent.
      controls.setInclusionPrice(2_000);
      controls.passTime(Number(stuck.validUntil) - controls.latest().closedAt - 8);
      controls.closeLedger();
    }
    controls.setInclusionPrice(900);
    controls.closeLedger();
    expect(await network.outcome(stuck)).toMatchObject({ status: 'succeeded' });
    expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
  });

  it('are known to have landed in the envelope of a stranger, who pays for them', async () => {
    testbed = await startStellarTestbed({ channels: 1, devnet: { minPersistentTtlLedgers: 2_073_600 } });
    const { network, options, devnet } = testbed;
    const tokenAddress = await mintedCarbon(network, 2n);
    await archiveWithCode([tokenAddress]);
    const retiring = await prepare(network, retire(tokenAddress, TONNE));
    const stranger = Keypair.random();
    devnet.fund(stranger.publicKey(), 1_000n * XLM);
    const innerTransaction = paidByCustody(retiring, devnet.passphrase);
    const bump = TransactionBuilder.buildFeeBumpTransaction(
      stranger,
      '1000000',
      innerTransaction,
      devnet.passphrase,
    );
    bump.sign(stranger);
    expect(await createNode(options).send(bump)).toMatchObject({ status: 'PENDING' });
    devnet.controls.closeLedger();
    await testbed.advanceClock(400);
    expect(await settled(network, retiring)).toMatchObject({
      status: 'succeeded',
      result: { kind: 'retired', retirementIndex: 0 },
    });
    const { records } = await network.retirementRecords(tokenAddress, 0, 1);
    for (const hints of [[], [bump.hash().toString('hex')]]) {
      const wanted = records.map((record) => ({ ...record, hints }));
      expect(await network.retirementTransactions(tokenAddress, wanted)).toEqual(
        new Map([[0, retiring.hash]]),
      );
    }
  });

  it('can’t land without an envelope that pays for them', async () => {
    testbed = await startStellarTestbed({ channels: 1, devnet: { minPersistentTtlLedgers: 2_073_600 } });
    const { network, options, devnet } = testbed;
    const tokenAddress = await mintedCarbon(network, 1n);
    // Enough for the channel to pay.
    devnet.fund(testbed.channels[0]?.publicKey() ?? '', 400n * XLM);
    await archiveWithCode([tokenAddress]);
    const retiring = await prepare(network, retire(tokenAddress, TONNE));
    const innerTransaction = paidByCustody(retiring, devnet.passphrase);
    const taken = await createNode(options).send(innerTransaction);
    expect(taken).toMatchObject({ status: 'ERROR', errorCode: 'txInsufficientFee' });
    expect(await network.broadcast(retiring.signedBytes)).toEqual({ status: 'accepted' });
    expect(await settled(network, retiring)).toMatchObject({ status: 'succeeded' });
    expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
  });
});
