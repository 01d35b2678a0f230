/**
 * The entries that a landed call may touch on the network, and what happens to entries whose lifetime is
 * over.
 */
import { rpc, SorobanDataBuilder, TransactionBuilder } from '@stellar/stellar-sdk';
import type { Keypair, Transaction, xdr } from '@stellar/stellar-sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { contractDataKey, instanceKey } from '../../../../src/ledger/network/stellar/addresses.ts';
import { address, i128, u32, variant } from '../../../support/stellar/values.ts';
import { retireArguments, startSorobanTestbed } from '../../../support/stellar/testbed.ts';
import type { SorobanTestbed } from '../../../support/stellar/testbed.ts';
import type { StellarDevnetOptions } from '../../../../devnet/stellar/startStellarDevnet.ts';

let testbed: SorobanTestbed;
afterEach(() => testbed.devnet.close());

async function withHolders(count: number, options: StellarDevnetOptions = {}): Promise<Keypair[]> {
  testbed = await startSorobanTestbed(options);
  const { client, custody, token } = testbed;
  const holders = Array.from({ length: count }, () => testbed.account());
  for (const holder of holders) {
    const args = [address(custody.publicKey()), address(holder.publicKey()), i128(10n)];
    await client.call(custody, token, 'transfer', args);
  }
  return holders;
}

/** The value of the public test network. */
const LIFE_LEDGERS = 120_960;

const retirementKey = (index: number) => contractDataKey(testbed.token, variant('Retirement', u32(index)));

const prepareRetirement = (holder: Keypair) =>
  testbed.client.prepare(holder, testbed.token, 'retire', retireArguments(holder, 1n));

/** Returns the transaction with other resources, signed again. */
function withData(
  original: Transaction,
  keys: Keypair,
  change: (data: SorobanDataBuilder) => SorobanDataBuilder,
): Transaction {
  const data = new SorobanDataBuilder(original.toEnvelope().v1().tx().ext().sorobanData());
  const fee = Number(original.fee) - Number(data.build().resourceFee());
  const built = TransactionBuilder.cloneFrom(original, {
    fee: String(fee),
    networkPassphrase: testbed.devnet.passphrase,
    sorobanData: change(data).build(),
  }).build();
  built.sign(keys);
  return built;
}

async function landAll(transactions: Transaction[]) {
  const { client, devnet } = testbed;
  for (const transaction of transactions) {
    expect((await client.server.sendTransaction(transaction)).status).toBe('PENDING');
  }
  devnet.controls.closeLedger();
  return Promise.all(
    transactions.map((transaction) => client.server.getTransaction(transaction.hash().toString('hex'))),
  );
}

function invokeCode(landed: rpc.Api.GetTransactionResponse): string {
  if (landed.status !== rpc.Api.GetTransactionStatus.FAILED) return landed.status;
  const [result] = landed.resultXdr.result().results();
  return String(result?.tr().invokeHostFunctionResult().switch().name);
}

describe('a footprint', () => {
  it('holds one retirement’s key: of two simulated alike, one lands', async () => {
    const holders = await withHolders(2);
    const prepared = await Promise.all(holders.map(prepareRetirement));
    const landed = await landAll(prepared);
    expect(landed.map(invokeCode).toSorted()).toEqual(['SUCCESS', 'invokeHostFunctionTrapped']);
    const failed = landed.find(({ status }) => status === rpc.Api.GetTransactionStatus.FAILED);
    if (failed?.status !== rpc.Api.GetTransactionStatus.FAILED) throw new Error('None failed');
    const said = (failed.diagnosticEventsXdr ?? []).map((event) => event.toXDR().toString('latin1')).join();
    expect(said).toContain('trying to access contract data key outside of the footprint');
    expect(await testbed.client.read(testbed.token, 'total_retirements')).toBe(1);
  });

  it('may hold more keys than are used, if that is paid for', async () => {
    const holders = await withHolders(3);
    const prepared = await Promise.all(holders.map(prepareRetirement));
    const widened = prepared.map((transaction, index) => {
      const holder = holders[index];
      if (!holder) throw new Error('A holder is missing');
      const unpaid = withData(transaction, holder, (data) =>
        data.setReadWrite([...data.getReadWrite(), retirementKey(1), retirementKey(2)]),
      );
      const resourceFee = Number(unpaid.toEnvelope().v1().tx().ext().sorobanData().resourceFee());
      return withData(unpaid, holder, (data) =>
        data
          .setResourceFee(resourceFee + 60_000)
          .setResources(4_000_000, data.build().resources().diskReadBytes(), 10_000),
      );
    });
    expect((await landAll(widened)).map(invokeCode)).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS']);
    expect(await testbed.client.read(testbed.token, 'total_retirements')).toBe(3);
  });

  it('that is too narrow, or read-only where it is written, traps', async () => {
    const [holder] = (await withHolders(1)) as [Keypair];
    const original = await prepareRetirement(holder);
    const narrow = withData(original, holder, (data) =>
      data.setReadWrite(
        data.getReadWrite().filter((key) => key.toXDR('hex') !== retirementKey(0).toXDR('hex')),
      ),
    );
    expect((await landAll([narrow])).map(invokeCode)).toEqual(['invokeHostFunctionTrapped']);
    const next = await prepareRetirement(holder);
    const readOnly = withData(next, holder, (data) =>
      data.setReadOnly([...data.getReadOnly(), ...data.getReadWrite()]).setReadWrite([]),
    );
    expect((await landAll([readOnly])).map(invokeCode)).toEqual(['invokeHostFunctionTrapped']);
  });

  it('has to declare what is used', async () => {
    const [holder] = (await withHolders(1)) as [Keypair];
    const original = await prepareRetirement(holder);
    const mean = withData(original, holder, (data) => data.setResources(4_000_000, 0, 100));
    expect((await landAll([mean])).map(invokeCode)).toEqual(['invokeHostFunctionResourceLimitExceeded']);
    const next = await prepareRetirement(holder);
    const lazy = withData(next, holder, (data) => data.setResources(1_000, 5_000, 5_000));
    expect((await landAll([lazy])).map(invokeCode)).toEqual(['invokeHostFunctionResourceLimitExceeded']);
  });
});

describe('an archived entry', () => {
  async function withRecord(options: StellarDevnetOptions): Promise<Keypair> {
    const [holder] = (await withHolders(1, options)) as [Keypair];
    await testbed.client.call(holder, testbed.token, 'retire', retireArguments(holder, 1n));
    return holder;
  }

  it('is still given, past its time, and read by a simulation as if it lived', async () => {
    await withRecord({});
    const { controls } = testbed.devnet;
    controls.archive(retirementKey(0));
    const { entries, latestLedger } = await testbed.client.server.getLedgerEntries(retirementKey(0));
    expect(entries[0]?.liveUntilLedgerSeq).toBeLessThan(latestLedger);
    expect(entries[0]?.val.contractData().val().switch().name).toBe('scvMap');
    controls.archive(retirementKey(0), 'evicted');
    const evicted = await testbed.client.server.getLedgerEntries(retirementKey(0));
    expect(evicted.entries[0]?.liveUntilLedgerSeq).toBe(0);
    expect(await testbed.client.read(testbed.token, 'get_retirement', [u32(0)])).toMatchObject({
      amount: 1n,
    });
  });

  it('comes of itself when its life is over', async () => {
    await withRecord({});
    const { devnet, client } = testbed;
    const before = await client.server.getLedgerEntries(retirementKey(0));
    const { liveUntilLedgerSeq = 0 } = before.entries[0] ?? {};
    expect(liveUntilLedgerSeq - before.latestLedger).toBe(LIFE_LEDGERS - 1);
    devnet.controls.skipLedgers(LIFE_LEDGERS);
    const after = await client.server.getLedgerEntries(retirementKey(0));
    expect(after.entries[0]?.liveUntilLedgerSeq).toBeLessThan(after.latestLedger);
  });

  it('is restored by the transaction itself', async () => {
    const holder = await withRecord({});
    testbed.devnet.controls.archive(instanceKey(testbed.token));
    const { client, token } = testbed;
    const source = await client.server.getAccount(holder.publicKey());
    const built = client.build(source, token, 'retire', retireArguments(holder, 1n));
    const simulated = await client.simulate(built);
    expect(rpc.Api.isSimulationRestore(simulated)).toBe(false);
    const data = simulated.transactionData.build();
    const [index] = data.ext().resourceExt().archivedSorobanEntries();
    expect(data.resources().footprint().readWrite()[index ?? -1]?.toXDR('hex')).toBe(
      instanceKey(token).toXDR('hex'),
    );
    const transaction = await prepareRetirement(holder);
    const forgetful = withData(transaction, holder, (builder) => {
      const plain = builder.build();
      plain.ext(new (plain.ext().constructor as typeof xdr.SorobanTransactionDataExt)(0));
      return new SorobanDataBuilder(plain);
    });
    expect((await landAll([forgetful])).map(invokeCode)).toEqual(['invokeHostFunctionEntryArchived']);
    expect((await landAll([await prepareRetirement(holder)])).map(invokeCode)).toEqual(['SUCCESS']);
    const { entries, latestLedger } = await client.server.getLedgerEntries(instanceKey(token));
    expect(entries[0]?.liveUntilLedgerSeq).toBeGreaterThan(latestLedger);
  });
});
