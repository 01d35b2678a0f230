/**
 * The Stellar adapter against a faulty node: its answers are hints, missing answers mean unknown, and no
 * transaction is called dead that could have landed or still can.
 */
import { Keypair, TransactionBuilder } from '@stellar/stellar-sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import type { Address, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { readAccounts } from '../../../src/ledger/network/stellar/accounts.ts';
import { createNode } from '../../../src/ledger/network/stellar/node.ts';
import {
  deployCarbon,
  land,
  landAll,
  mintedCarbon,
  prepare,
  retire,
  settled,
  TONNE,
} from '../../../devnet/calls.ts';
import { startRewritingProxy } from '../../support/faults/rewritingProxy.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

const VALIDITY_SECONDS = 60;
/** So long after it was signed, a transaction counts as stuck. */
const STUCK_AFTER_SECONDS = 10;

let testbed: StellarTestbed;
let tokenAddress: Address;

beforeEach(async () => {
  testbed = await startStellarTestbed({
    channels: 2,
    network: { validitySeconds: VALIDITY_SECONDS },
  });
  tokenAddress = await mintedCarbon(testbed.network, 10n);
  // From here on ledgers close by hand.
  testbed.devnet.controls.hold();
});
afterEach(() => testbed.close());

const retireOne = (note?: string) => prepare(testbed.network, retire(tokenAddress, TONNE, note));
const stringContaining = (text: string) => expect.stringContaining(text);

async function retirements(): Promise<number> {
  return (await testbed.network.carbonTotals(tokenAddress)).totalRetirements;
}

function passBounds(prepared: PreparedTransaction): void {
  const { controls } = testbed.devnet;
  controls.passTime(VALIDITY_SECONDS + 10);
  controls.closeLedger();
  expect(controls.latest().closedAt).toBeGreaterThan(prepared.validUntil ?? 0n);
}

describe('what a node says to a broadcast', () => {
  it('takes TRY_AGAIN_LATER for a refusal, which is a hint: the same bytes are sent again, and land', async () => {
    const prepared = await retireOne();
    testbed.devnet.controls.faults.tryAgainLater = 1;
    expect(await testbed.network.broadcast(prepared.signedBytes)).toEqual({
      status: 'refused',
      reason:
        'The node asks to try again later: its queue is full, or it dropped or applied the transaction lately',
    });
    expect(await testbed.network.outcome(prepared)).toEqual({ status: 'pending' });
    expect(await testbed.network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    testbed.devnet.controls.closeLedger();
    expect(await testbed.network.outcome(prepared)).toMatchObject({ status: 'succeeded' });
    expect(await retirements()).toBe(1);
  });

  it('puts what a node dropped into an envelope that the node takes, though others pay no more', async () => {
    const { controls } = testbed.devnet;
    const prepared = await retireOne();
    expect(await testbed.network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    controls.setInclusionPrice(900);
    for (const _ of [1, 2, 3, 4]) controls.closeLedger();
    expect(controls.waiting()).toEqual([]);
    controls.passTime(STUCK_AFTER_SECONDS);
    controls.closeLedger();
    controls.setInclusionPrice(100);
    expect(await testbed.network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    controls.closeLedger();
    expect(await testbed.network.outcome(prepared)).toMatchObject({ status: 'succeeded' });
    expect(await retirements()).toBe(1);
  });

  it('takes DUPLICATE for accepted', async () => {
    const prepared = await retireOne();
    testbed.devnet.controls.faults.sayDuplicate = 1;
    expect(await testbed.network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    testbed.devnet.controls.closeLedger();
    expect(await testbed.network.outcome(prepared)).toMatchObject({ status: 'succeeded' });
  });

  it('passes a wrong sequence on as a hint, and the attempt stays alive', async () => {
    const prepared = await retireOne();
    testbed.devnet.controls.faults.sayBadSequence = 1;
    expect(await testbed.network.broadcast(prepared.signedBytes)).toMatchObject({
      status: 'refused',
      reason: stringContaining('txBadSeq'),
    });
    expect(await testbed.network.outcome(prepared)).toEqual({ status: 'pending' });
  });

  it('says that what landed before was accepted, though its sequence is used up', async () => {
    const prepared = await retireOne();
    await testbed.network.broadcast(prepared.signedBytes);
    testbed.devnet.controls.closeLedger();
    expect(await testbed.twin.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
  });

  it('knows nothing when the answer is lost, and finds what landed', async () => {
    const prepared = await retireOne();
    testbed.devnet.controls.faults.loseSendAnswers = 1;
    await expect(testbed.network.broadcast(prepared.signedBytes)).rejects.toThrow(NetworkUnavailable);
    testbed.devnet.controls.closeLedger();
    expect(await testbed.network.outcome(prepared)).toMatchObject({ status: 'succeeded' });
    expect(await retirements()).toBe(1);
  });
});

describe('a node that does not answer', () => {
  for (const fault of ['reset', 'status-503', 'truncated', 'silent'] as const) {
    it(`throws NetworkUnavailable for everything when it fails by ${fault}, and works again after it`, async () => {
      const network = await testbed.open({ requestTimeoutMs: 300 });
      const prepared = await retireOne();
      testbed.devnet.controls.faults.unreachable = fault;
      for (const ask of [
        () => network.status(),
        () => network.nextSequences(),
        () => network.draft(retire(tokenAddress, TONNE)),
        () => network.broadcast(prepared.signedBytes),
        () => network.outcome(prepared),
        () => network.retirementRecords(tokenAddress, 0, 1),
        () => network.offRampDeposit(tokenAddress, 'a session'),
      ]) {
        await expect(ask()).rejects.toThrow(NetworkUnavailable);
      }
      expect(await network.expiryOf([tokenAddress])).toEqual([
        { tokenAddress, error: expect.any(NetworkUnavailable) as NetworkUnavailable },
      ]);
      testbed.devnet.controls.faults.unreachable = null;
      expect(await testbed.network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    });
  }

  it('never shows the url, which may hold a key', async () => {
    const secret = 'a-key-in-the-path';
    const network = await testbed.open({ rpcUrl: `${testbed.devnet.url}/${secret}` });
    testbed.devnet.controls.faults.unreachable = 'status-503';
    const error: unknown = await network.status().catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(NetworkUnavailable);
    expect(JSON.stringify([error, String(error), (error as Error).cause])).not.toContain(secret);
  });
});

describe('a node behind the same address that lags', () => {
  it('refuses nothing for good on a ledger older than one that was seen', async () => {
    const minted = {
      kind: 'mint',
      to: testbed.custody.publicKey(),
      tokenAddress,
      amount: 90n * TONNE,
    } as const;
    const prepared = await prepare(testbed.network, minted);
    await testbed.network.broadcast(prepared.signedBytes);
    testbed.devnet.controls.closeLedger();
    expect(await testbed.network.outcome(prepared)).toMatchObject({ status: 'succeeded' });
    const all = () => testbed.network.draft(retire(tokenAddress, 100n * TONNE));
    testbed.devnet.controls.faults.lagLedgers = 1;
    await expect(all()).rejects.toThrow(NetworkUnavailable);
    testbed.devnet.controls.faults.lagLedgers = 0;
    // The refused call still reads the old ledger, and the next call shares that read.
    await vi.waitFor(all);
  });

  it('does not call a sequence unused on a ledger older than one that was seen', async () => {
    let elapsedMs = 0;
    let nowMs = 1_800_000_000_000;
    const { controls } = testbed.devnet;
    const network = await testbed.open({ elapsedMs: () => elapsedMs, nowMs: () => nowMs });
    const prepared = await retireOne();
    await network.broadcast(prepared.signedBytes);
    controls.closeLedger();
    const next = async () => (await network.nextSequences()).get(prepared.source);
    expect(await next()).toBe((prepared.sequence ?? 0n) + 1n);
    controls.faults.lagLedgers = 1;
    await expect(next()).rejects.toThrow(NetworkUnavailable);
    // No answer has shown that ledger for a minute, so it may have been one false number. The machine's clock
    // was set back.
    nowMs -= 3_600_000;
    elapsedMs += 60_000;
    expect(await next()).toBe(prepared.sequence);
    controls.faults.lagLedgers = 0;
  });

  it('reads nothing of a ledger older than one that was seen', async () => {
    const { controls } = testbed.devnet;
    const holder = testbed.custody.publicKey();
    const prepared = await retireOne();
    await testbed.network.broadcast(prepared.signedBytes);
    controls.closeLedger();
    const balance = () => testbed.network.balanceOf(tokenAddress, holder);
    const records = async () => (await testbed.network.retirementRecords(tokenAddress, 0, 1)).records.length;
    const draft = () => testbed.network.draft(retire(tokenAddress, TONNE));
    await testbed.network.nextSequences();
    controls.faults.lagLedgers = 1;
    for (const ask of [balance, records, draft]) await expect(ask()).rejects.toThrow(NetworkUnavailable);
    controls.faults.lagLedgers = 0;
    expect([await balance(), await records()]).toEqual([9n * TONNE, 1]);
  });

  it('is asked again, so that reads of two nodes in turns do not fail', async () => {
    const { controls } = testbed.devnet;
    const proxy = await startRewritingProxy(testbed.devnet.url, { inTurns: true });
    try {
      const network = await testbed.open({ rpcUrl: proxy.url });
      const prepared = await retireOne();
      await network.broadcast(prepared.signedBytes);
      controls.closeLedger();
      await network.nextSequences();
      proxy.onRequest = () => (controls.faults.lagLedgers = 1 - controls.faults.lagLedgers);
      for (let times = 0; times < 3; times += 1) {
        expect(await network.balanceOf(tokenAddress, testbed.custody.publicKey())).toBe(9n * TONNE);
        expect((await network.retirementRecords(tokenAddress, 0, 1)).records).toHaveLength(1);
      }
    } finally {
      controls.faults.lagLedgers = 0;
      await proxy.close();
    }
  });

  it('is asked again for the time that signed bytes live from', async () => {
    const { controls } = testbed.devnet;
    const proxy = await startRewritingProxy(testbed.devnet.url, { inTurns: true });
    try {
      const network = await testbed.open({ rpcUrl: proxy.url });
      controls.passTime(VALIDITY_SECONDS + 10);
      const { closedAt } = controls.closeLedger();
      await network.status();
      proxy.onRequest = () => (controls.faults.lagLedgers = 1 - controls.faults.lagLedgers);
      for (let times = 0; times < 4; times += 1) {
        const { validUntil } = await prepare(network, retire(tokenAddress, TONNE));
        expect(validUntil).toBe(BigInt(closedAt + VALIDITY_SECONDS));
        // Alternates which of the two nodes answers first.
        if (times % 2 === 0) await network.status();
      }
    } finally {
      controls.faults.lagLedgers = 0;
      await proxy.close();
    }
  });
});

describe('a channel without money', () => {
  it('gets no slot, and is warned of until it is funded', async () => {
    const poor = Keypair.random();
    testbed.devnet.fund(poor.publicKey(), 11_000_000n);
    const warnings: string[] = [];
    const network = await testbed.open({
      channelSecretKeys: [poor.secret(), ...testbed.channels.map((key) => key.secret())],
      log: { warn: (message: unknown) => void warnings.push(String(message)) },
    });
    expect((await network.nextSequences()).has(poor.publicKey())).toBe(true);
    expect(network.signingOrder).toMatchObject({ unfunded: [poor.publicKey()], leastToSpend: '1 XLM' });
    expect(network.signingOrder?.accounts).toContain(poor.publicKey());
    testbed.devnet.fund(poor.publicKey(), 20_000_000n);
    await network.nextSequences();
    expect(network.signingOrder?.unfunded).toEqual([]);
    expect(warnings).toEqual([
      stringContaining('has less than 1 XLM to spend'),
      stringContaining('has XLM again'),
    ]);
  });

  it('is one that could pay for a retirement, and not for a deployment', async () => {
    const poor = Keypair.random();
    testbed.devnet.fund(poor.publicKey(), 12_010_000n);
    const network = await testbed.open({ channelSecretKeys: [poor.secret()] });
    const unpaid = await prepare(network, deployCarbon());
    expect(await network.broadcast(unpaid.signedBytes)).toMatchObject({
      reason: expect.stringMatching(
        new RegExp(`nsufficientBalance: ${poor.publicKey()} has less than 0\\.\\d+ XLM to spend, beside`),
      ),
    });
    expect(network.signingOrder?.unfunded).toEqual([poor.publicKey()]);
  });

  it('is one that has to keep it for entries of its own: the network takes no fee from that', async () => {
    const { devnet, network } = testbed;
    const [keeping = ''] = testbed.channels.map((key) => key.publicKey());
    const { byAddress } = await readAccounts(createNode(testbed.options), [keeping]);
    // Every account keeps two reserves.
    const reserves = (byAddress.get(keeping)?.balanceStroops ?? 0n) / 5_000_000n;
    devnet.controls.setSubEntries(keeping, Number(reserves) - 1);
    const unpaid = await prepare(network, retire(tokenAddress, TONNE));
    expect(unpaid.source).toBe(keeping);
    expect(await network.broadcast(unpaid.signedBytes)).toMatchObject({
      reason: stringContaining('nsufficientBalance'),
    });
    await network.nextSequences();
    expect(network.signingOrder?.unfunded).toEqual([keeping]);
  });
});

describe('death', () => {
  it('is not proved by a node that lags behind, whatever the time', async () => {
    const prepared = await retireOne();
    passBounds(prepared);
    testbed.devnet.controls.faults.lagLedgers = 1;
    expect(await testbed.network.outcome(prepared)).toEqual({ status: 'pending' });
    testbed.devnet.controls.faults.lagLedgers = 0;
    expect(await testbed.network.outcome(prepared)).toMatchObject({ status: 'dead' });
  });

  it('is not said of what landed, though the node denies it after its time', async () => {
    const prepared = await retireOne();
    await testbed.network.broadcast(prepared.signedBytes);
    testbed.devnet.controls.closeLedger();
    passBounds(prepared);
    // The look-up, the second look, and the look-up of the search's result are all denied.
    testbed.devnet.controls.faults.denyTransactions = 3;
    expect(await testbed.network.outcome(prepared)).toEqual({ status: 'pending' });
    for (const denied of [1, 2]) {
      testbed.devnet.controls.faults.denyTransactions = denied;
      expect(await testbed.network.outcome(prepared)).toMatchObject({
        status: 'succeeded',
        result: { kind: 'retired', retirementIndex: 0 },
      });
    }
    expect(await retirements()).toBe(1);
  });

  it('is proved by the unused sequence, even when history no longer reaches back', async () => {
    const prepared = await retireOne();
    passBounds(prepared);
    testbed.devnet.controls.skipLedgers(20_000);
    const { oldestLedger } = await testbed.network.status();
    expect(oldestLedger).toBeGreaterThan(prepared.preparedAtLedger);
    expect(await testbed.network.outcome(prepared)).toMatchObject({
      status: 'dead',
      proof: stringContaining(`never used ${prepared.sequence}`),
    });
  });

  it('can’t be proved when the sequence was used and history is gone', async () => {
    const prepared = await retireOne();
    await testbed.network.broadcast(prepared.signedBytes);
    testbed.devnet.controls.closeLedger();
    testbed.devnet.controls.skipLedgers(20_000);
    expect(await testbed.network.outcome(prepared)).toMatchObject({
      status: 'undeterminable',
      reason: stringContaining(String(prepared.preparedAtLedger)),
    });
  });

  it('is proved by the other transaction that used the sequence', async () => {
    const [first, second] = [await retireOne(), await retireOne('another')];
    expect([first.source, first.sequence]).toEqual([second.source, second.sequence]);
    await testbed.network.broadcast(first.signedBytes);
    testbed.devnet.controls.closeLedger();
    expect(await testbed.network.outcome(second)).toEqual({ status: 'pending' });
    passBounds(second);
    expect(await testbed.network.outcome(second)).toMatchObject({
      status: 'dead',
      proof: stringContaining(first.hash),
    });
    expect(await testbed.network.outcome(first)).toMatchObject({ status: 'succeeded' });
  });

  it('is proved by searching the ledgers, when the account went on since', async () => {
    const [first, second] = [await retireOne(), await retireOne('another')];
    await testbed.network.broadcast(first.signedBytes);
    testbed.devnet.controls.closeLedger();
    const third = await retireOne('a third');
    expect(third.source).toBe(first.source);
    await testbed.network.broadcast(third.signedBytes);
    testbed.devnet.controls.closeLedger();
    passBounds(second);
    expect(await testbed.network.outcome(second)).toMatchObject({
      status: 'dead',
      proof: stringContaining(first.hash),
    });
  });

  it('does not come when a node forgets a waiting transaction: it is sent again', async () => {
    const prepared = await retireOne();
    await testbed.network.broadcast(prepared.signedBytes);
    testbed.devnet.controls.dropWaiting(prepared.hash);
    testbed.devnet.controls.closeLedger();
    expect(await testbed.network.outcome(prepared)).toEqual({ status: 'pending' });
    testbed.devnet.controls.release();
    await testbed.network.broadcast(prepared.signedBytes);
    expect(await settled(testbed.network, prepared)).toMatchObject({ status: 'succeeded' });
  });

  it('is proved by a search that takes several steps, and one of a holder’s ends with its time', async () => {
    const holder = Keypair.random();
    const to = holder.publicKey();
    testbed.devnet.fund(to);
    testbed.devnet.controls.release();
    const proxy = await startRewritingProxy(testbed.devnet.url);
    try {
      // As many pages as on a busy network.
      proxy.onRequest = ({ method, params }) => {
        if (method === 'getTransactions' && params) {
          params['pagination'] = { ...(params['pagination'] as object), limit: 1 };
        }
      };
      let pages = 0;
      proxy.onAnswer = ({ method }) => {
        if (method === 'getTransactions') pages += 1;
      };
      const busy = await testbed.open({ rpcUrl: proxy.url });
      const mint = { kind: 'mint', tokenAddress, to, amount: 10n * TONNE } as const;
      await land(testbed.network, mint);
      const act = { kind: 'retire', tokenAddress, amount: TONNE, beneficiary: 'Me', note: '' } as const;
      const byHolder = async () => {
        const unsigned = await busy.prepareForHolder(act, to);
        const transaction = TransactionBuilder.fromXDR(unsigned.payload, testbed.devnet.passphrase);
        transaction.sign(holder);
        return busy.openSigned(act, unsigned, transaction.toXDR());
      };
      const ours = await prepare(testbed.network, retire(tokenAddress, TONNE, 'never sent'));
      const theirs = await byHolder();
      const others = Array.from({ length: 60 }, (_, at) => ({ ...mint, amount: BigInt(at + 1) }));
      await landAll([testbed.network], others);
      await testbed.advanceClock(700);
      // Both accounts went on twice, so they no longer show where they used these sequences.
      for (let times = 0; times < 2; times += 1) {
        await busy.broadcast((await byHolder()).signedBytes);
        await testbed.advanceClock(1);
        await landAll([testbed.network], [mint, mint]);
      }
      pages = 0;
      expect(await busy.outcome(theirs)).toEqual({ status: 'pending' });
      expect(pages).toBe(50);
      expect(await busy.outcome(theirs)).toMatchObject({ status: 'dead', usedBy: null });
      expect(pages).toBeGreaterThan(55);
      expect(await busy.outcome(ours)).toMatchObject({
        status: 'dead',
        usedBy: expect.any(String) as string,
      });
    } finally {
      await proxy.close();
    }
  });
});
