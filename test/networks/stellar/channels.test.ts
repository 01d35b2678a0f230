/**
 * Making channels with custody's lumens, and the results of checking the network.
 */
import { Keypair } from '@stellar/stellar-sdk';
import { afterEach, describe, expect, it } from 'vitest';
import type { Check } from '../../../src/ledger/network/check.ts';
import { fundChannels, readChannels } from '../../../src/ledger/network/stellar/channels.ts';
import type { FundingOptions } from '../../../src/ledger/network/channelAccounts.ts';
import { checkStellarNetwork } from '../../../src/ledger/network/stellar/checks.ts';
import type { StellarNetworkOptions } from '../../../src/ledger/network/stellar/options.ts';
import { mintedCarbon, retire, landAll, TONNE } from '../../../devnet/calls.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

let testbed: StellarTestbed;
afterEach(() => testbed.close());

const XLM = 10_000_000n;

function optionsFor(channels: readonly Keypair[]): StellarNetworkOptions {
  return { ...testbed.options, channelSecretKeys: channels.map((key) => key.secret()) };
}

function funding(sequencesUsed: bigint[] = []): FundingOptions {
  return {
    startingBalanceStroops: 5n * XLM,
    topUpBelowStroops: 2n * XLM,
    beforeSending: async (sequence) => void sequencesUsed.push(sequence),
    wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds / 20)),
  };
}

const freshKeys = (count: number) => Array.from({ length: count }, () => Keypair.random());

describe('making channels', () => {
  it('makes what is missing and tops up what is short, 100 in a transaction, and leaves the rest', async () => {
    testbed = await startStellarTestbed({ channels: 0 });
    const channels = freshKeys(130);
    const [rich, enough, poor, ...missing] = channels.map((key) => key.publicKey());
    testbed.devnet.fund(rich ?? '', 77n * XLM);
    testbed.devnet.fund(enough ?? '', 2n * XLM);
    testbed.devnet.fund(poor ?? '', 2n * XLM - 1n);
    const options = optionsFor(channels);
    const sequences: bigint[] = [];
    const done = await fundChannels(options, funding(sequences));
    expect(done).toEqual([poor, ...missing]);
    expect(sequences).toHaveLength(2);
    expect(sequences[1]).toBe((sequences[0] ?? 0n) + 1n);
    const states = await readChannels(options);
    expect(states.map(({ balanceStroops }) => balanceStroops)).toEqual([
      77n * XLM,
      2n * XLM,
      ...[poor, ...missing].map(() => 5n * XLM),
    ]);
    expect(await fundChannels(options, funding(sequences))).toEqual([]);
    expect(sequences).toHaveLength(2);
  });

  it('makes channels that work', async () => {
    testbed = await startStellarTestbed({ channels: 0 });
    const channels = freshKeys(3);
    await fundChannels(optionsFor(channels), funding());
    const network = await testbed.open({ channelSecretKeys: channels.map((key) => key.secret()) });
    const tokenAddress = await mintedCarbon(network, 3n);
    const calls = channels.map((_, at) => retire(tokenAddress, TONNE, `#${at}`));
    await landAll([network], calls);
    expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(3);
  });

  it('lets two runs at once make each channel once', async () => {
    testbed = await startStellarTestbed({ channels: 0 });
    const options = optionsFor(freshKeys(5));
    const made = await Promise.allSettled([
      fundChannels(options, funding()),
      fundChannels(options, funding()),
    ]);
    expect(made.some(({ status }) => status === 'fulfilled')).toBe(true);
    const states = await readChannels(options);
    expect(states.every(({ balanceStroops }) => balanceStroops === 5n * XLM)).toBe(true);
  });

  it('says what is wrong when custody can’t pay', async () => {
    testbed = await startStellarTestbed({ channels: 0 });
    const poor = { ...optionsFor(freshKeys(2)), secretKey: Keypair.random().secret() };
    await expect(fundChannels(poor, funding())).rejects.toThrow('does not exist');
    const all = { ...funding(), startingBalanceStroops: 1_000_000n * XLM };
    await expect(fundChannels(optionsFor(freshKeys(2)), all)).rejects.toThrow('createAccountUnderfunded');
  });
});

describe('a look at the network', () => {
  async function look(options: StellarNetworkOptions): Promise<Map<string, Check>> {
    const found = new Map<string, Check>();
    for await (const check of checkStellarNetwork(options)) found.set(check.name, check);
    return found;
  }

  it('finds everything right where it is', async () => {
    testbed = await startStellarTestbed({ channels: 2 });
    const found = await look(testbed.options);
    expect([...found.values()].filter(({ result }) => result !== 'pass')).toEqual([]);
    expect([...found.keys()]).toEqual([
      'fees',
      'funds',
      'channels',
      'token factory',
      'settlement factory',
      'settlement roles',
    ]);
  });

  it('finds what is missing, and who has the roles instead', async () => {
    testbed = await startStellarTestbed({ channels: 1 });
    const stranger = Keypair.random();
    const found = await look({
      ...testbed.options,
      secretKey: stranger.secret(),
      channelSecretKeys: [testbed.channels[0]?.secret() ?? '', Keypair.random().secret()],
      factoryAddress: testbed.settlementAddress,
      settlementFactoryAddress: testbed.devnet.factoryAddress,
    });
    expect(found.get('funds')).toMatchObject({ result: 'fail' });
    expect(found.get('channels')).toMatchObject({
      result: 'warn',
      found: expect.stringContaining('1 of 2 do not exist') as string,
    });
    const none = { ...testbed.options, channelSecretKeys: [Keypair.random().secret()] };
    expect((await look(none)).get('channels')).toMatchObject({ result: 'fail' });
    expect(found.get('token factory')).toMatchObject({ result: 'fail' });
    expect(found.get('settlement factory')).toMatchObject({ result: 'fail' });
    expect(found.get('settlement roles')?.found).toContain(testbed.custody.publicKey());
    testbed.devnet.fund(stranger.publicKey(), 2n * XLM);
    expect((await look({ ...testbed.options, secretKey: stranger.secret() })).get('funds')).toMatchObject({
      result: 'warn',
    });
    expect((await look({ ...testbed.options, channelSecretKeys: [] })).get('channels')).toMatchObject({
      result: 'warn',
    });
  });

  it('says that nothing is signed where no account has enough to sign', async () => {
    testbed = await startStellarTestbed({ channels: 1 });
    const poor = Keypair.random();
    testbed.devnet.fund(poor.publicKey(), 2n * XLM - 1n);
    const some = [testbed.channels[0]?.secret() ?? '', poor.secret()];
    const signsNothing = { found: expect.stringContaining('signs nothing with less than 1') as string };
    const channels = async (channelSecretKeys: string[]) =>
      (await look({ ...testbed.options, channelSecretKeys })).get('channels');
    expect(await channels(some)).toMatchObject({ result: 'warn', ...signsNothing });
    expect(await channels([poor.secret()])).toMatchObject({ result: 'fail', ...signsNothing });
    const alone = { ...testbed.options, secretKey: poor.secret(), channelSecretKeys: [] };
    expect((await look(alone)).get('funds')).toMatchObject({ result: 'fail', ...signsNothing });
  });

  it('is not stopped by a node that is away', async () => {
    testbed = await startStellarTestbed({ channels: 1 });
    testbed.devnet.controls.faults.unreachable = 'reset';
    const found = await look(testbed.options);
    expect(found.size).toBe(6);
    for (const check of found.values()) expect(check.result).toBe('fail');
  });
});
