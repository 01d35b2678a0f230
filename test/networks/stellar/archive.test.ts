/**
 * Entries that the network has archived: their records are read all the same, and calls that need them land.
 */
import {
  Account,
  FeeBumpTransaction,
  Operation,
  rpc,
  SorobanDataBuilder,
  TransactionBuilder,
  xdr,
} from '@stellar/stellar-sdk';
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
import type { Protocol } from '../../../devnet/soroban/engine.ts';
import { startRewritingProxy } from '../../support/faults/rewritingProxy.ts';
import type { RewritingProxy } from '../../support/faults/rewritingProxy.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

let testbed: StellarTestbed;
afterEach(() => testbed.close());

async function open(protocolVersion: Protocol): Promise<string> {
  testbed = await startStellarTestbed({ channels: 2, devnet: { protocolVersion } });
  return mintedCarbon(testbed.network, 10n);
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
  it('restore them along with themselves on today’s protocol', async () => {
    const tokenAddress = await open(28);
    testbed.devnet.controls.archive(instanceKey(tokenAddress));
    expect(await land(testbed.network, retire(tokenAddress, TONNE))).toEqual({
      kind: 'retired',
      retirementIndex: 0,
    });
  });

  it('are preceded by a restoration of their own where the node asks for it: a recorded attempt that is dead for the call', async () => {
    const tokenAddress = await open(28);
    const key = instanceKey(tokenAddress);
    testbed.devnet.controls.archive(key);
    const proxy = await startAskingForRestoration(key);
    const network = await testbed.open({ rpcUrl: proxy.url });
    const restoring = await prepare(network, retire(tokenAddress, TONNE));
    expect(await network.broadcast(restoring.signedBytes)).toEqual({ status: 'accepted' });
    const outcome = await settled(network, restoring);
    expect(outcome).toMatchObject({
      status: 'dead',
      proof: expect.stringContaining('restored archived entries') as string,
    });
    expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(0);
    proxy.onAnswer = () => {};

    const calling = await prepare(network, retire(tokenAddress, TONNE));
    expect(calling.sequence).toBe((restoring.sequence ?? 0n) + 1n);
    await network.broadcast(calling.signedBytes);
    expect(await settled(network, calling)).toMatchObject({ status: 'succeeded' });
    expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
    await proxy.close();
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
    expect(await network.offRampDeposit('a')).toMatchObject({ status: 'PENDING', amount: 60n });
    expect(await spendable(channel)).toBe(9n * XLM);
    expect(await spendable(custody)).toBeLessThan(30n * XLM);
    // From here on the channel pays its own fees.
    const before = await spendable(custody);
    await land(network, { ...deposit, sessionId: 'b', amount: 1n });
    expect(await spendable(custody)).toBe(before);
    expect(await spendable(channel)).toBeLessThan(9n * XLM);
  });

  it('can’t be taken out of custody’s envelope and land under a hash that no attempt has', async () => {
    testbed = await startStellarTestbed({ channels: 1, devnet: { minPersistentTtlLedgers: 2_073_600 } });
    const { network, options, devnet } = testbed;
    const tokenAddress = await mintedCarbon(network, 1n);
    // Enough for the channel to pay.
    devnet.fund(testbed.channels[0]?.publicKey() ?? '', 400n * XLM);
    await archiveWithCode([tokenAddress]);
    const retiring = await prepare(network, retire(tokenAddress, TONNE));
    const envelope = TransactionBuilder.fromXDR(
      Buffer.from(retiring.signedBytes).toString('base64'),
      devnet.passphrase,
    );
    if (!(envelope instanceof FeeBumpTransaction)) throw new Error('custody does not pay for it');
    const taken = await createNode(options).send(envelope.innerTransaction);
    expect(taken).toMatchObject({ status: 'ERROR', errorCode: 'txInsufficientFee' });
    expect(await network.broadcast(retiring.signedBytes)).toEqual({ status: 'accepted' });
    expect(await settled(network, retiring)).toMatchObject({ status: 'succeeded' });
    expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
  });
});

/**
 * Starts a node older than protocol 23, which requires a separate transaction to restore archived entries.
 */
async function startAskingForRestoration(key: xdr.LedgerKey): Promise<RewritingProxy> {
  const { url, passphrase } = testbed.devnet;
  const source = testbed.custody.publicKey();
  const draft = new TransactionBuilder(new Account(source, '0'), {
    fee: '100',
    networkPassphrase: passphrase,
  })
    .addOperation(Operation.restoreFootprint({}))
    .setSorobanData(new SorobanDataBuilder().setReadWrite([key]).build())
    .setTimeout(0)
    .build();
  const restoration = await new rpc.Server(url, { allowHttp: true }).simulateTransaction(draft);
  if (!rpc.Api.isSimulationSuccess(restoration)) throw new Error(restoration.error);
  const transactionData = restoration.transactionData.build().toXDR('base64');
  const { minResourceFee } = restoration;
  const proxy = await startRewritingProxy(url);
  proxy.onAnswer = ({ method }, { result }) => {
    if (method === 'simulateTransaction' && result) {
      result['restorePreamble'] = { transactionData, minResourceFee };
    }
  };
  return proxy;
}
