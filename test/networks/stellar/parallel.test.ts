/**
 * Many transactions of one custody signer in one ledger, through channels. Each is bound to its envelope, and
 * the footprint of each retirement has room for the retirements that land before it.
 */
import { randomUUID } from 'node:crypto';
import { Keypair, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import type { NetworkCall, Outcome, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { retirementKey } from '../../../src/ledger/network/stellar/addresses.ts';
import {
  deployReceipt,
  land,
  mintedCarbon,
  prepare,
  prepareAll,
  retire,
  TONNE,
} from '../../../devnet/calls.ts';
import { PROTOCOLS } from '../../../devnet/soroban/engine.ts';
import { startRewritingProxy } from '../../support/faults/rewritingProxy.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { TestbedOptions, StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

let testbed: StellarTestbed;
afterEach(() => testbed.close());

/**
 * Forty simultaneous requests go to a node in this process: none may time out because the machine is busy.
 */
const REQUEST_TIMEOUT_MS = 60_000;
/** Only a hang takes this long: forty channels call contracts two hundred times, slowly on a busy machine. */
const TEST_TIMEOUT_MS = 300_000;

async function open(options: TestbedOptions): Promise<string> {
  testbed = await startStellarTestbed({ ...options, network: { requestTimeoutMs: REQUEST_TIMEOUT_MS } });
  const tokenAddress = await mintedCarbon(testbed.network, 100n);
  testbed.devnet.controls.hold();
  return tokenAddress;
}

function envelopeOf({ signedBytes }: PreparedTransaction): xdr.TransactionV1Envelope {
  return xdr.TransactionEnvelope.fromXDR(Buffer.from(signedBytes)).v1();
}

function footprintOf(prepared: PreparedTransaction): string[] {
  const data = envelopeOf(prepared).tx().ext().sorobanData();
  return data
    .resources()
    .footprint()
    .readWrite()
    .map((key) => key.toXDR('base64'));
}

const show = (outcome: Outcome) => (outcome.status === 'dead' ? `dead: ${outcome.proof}` : outcome.status);

/**
 * Reads the outcome, and repeats the read once, because a node may close an idle connection at the moment of
 * its next use.
 */
async function outcomeOf(prepared: PreparedTransaction): Promise<Outcome> {
  return testbed.network.outcome(prepared).catch((error: unknown) => {
    if (error instanceof NetworkUnavailable) return testbed.network.outcome(prepared);
    throw error;
  });
}

/** More ledgers than forty retirements with the longest texts take. */
const MAX_LEDGERS = 20;

function ledgerOf(outcome: Outcome): bigint {
  return 'ledger' in outcome ? outcome.ledger : 0n;
}

function indexOf(outcome: Outcome): number {
  if (outcome.status === 'succeeded' && outcome.result.kind === 'retired')
    return outcome.result.retirementIndex;
  throw new Error(`Nothing was retired: ${show(outcome)}`);
}

function deployedAt(outcome: Outcome): string {
  if (outcome.status === 'succeeded' && outcome.result.kind === 'deployed')
    return outcome.result.contractAddress;
  throw new Error(`Nothing was deployed: ${show(outcome)}`);
}

/** Sends all before the next ledger closes, which may be too small for all of them. */
async function landTogether(all: readonly PreparedTransaction[]): Promise<Outcome[]> {
  for (const prepared of all) {
    expect(await testbed.network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
  }
  const { closeLedger, waiting } = testbed.devnet.controls;
  for (let ledgers = 0; waiting().length > 0 && ledgers < MAX_LEDGERS; ledgers += 1) closeLedger();
  return Promise.all(all.map(outcomeOf));
}

/** Maximum number of ledgers by number of channels, on a network with the limits of the public one. */
const RETIRING = [
  { channels: 1, ledgers: 1 },
  { channels: 5, ledgers: 1 },
  { channels: 20, ledgers: 1 },
  { channels: 27, ledgers: 1 },
  { channels: 40, ledgers: 4 },
];

describe.each(PROTOCOLS)('on protocol %i', (protocolVersion) => {
  const devnet = { protocolVersion, queueLedgers: MAX_LEDGERS };

  it.each(RETIRING)(
    'mints, deploys and settles through $channels channels at once, and retires in $ledgers ledgers',
    { timeout: TEST_TIMEOUT_MS },
    async ({ channels, ledgers }) => {
      const tokenAddress = await open({ channels, devnet });
      const { custodyAddress } = testbed.network;
      const times = <T>(make: (at: number) => T) => Array.from({ length: channels }, (_, at) => make(at));
      const landAs = async (calls: NetworkCall[]) => {
        const outcomes = await landTogether(await prepareAll(testbed.network, calls));
        expect(outcomes.map(show)).toEqual(calls.map(() => 'succeeded'));
        return outcomes;
      };

      // Each deploy grows the factory's lists.
      const [receipt] = (await landAs(times(() => deployReceipt(4_000_000_000n)))).map(deployedAt);
      if (receipt === undefined) throw new Error('Nothing was deployed');
      await landAs(
        times((at) => ({ kind: 'mint', tokenAddress: receipt, to: custodyAddress, amount: BigInt(at + 1) })),
      );
      const landed = await landAs(times((at) => retire(tokenAddress, TONNE, `#${at}`)));
      expect(new Set(landed.map(ledgerOf)).size).toBeLessThanOrEqual(ledgers);
      expect(landed.map(indexOf).sort((a, b) => a - b)).toEqual(times((at) => at));
      const { records } = await testbed.network.retirementRecords(tokenAddress, 0, 200);
      for (const [place, outcome] of landed.entries())
        expect(records[indexOf(outcome)]?.note).toBe(`#${place}`);

      const sessions = times(() => randomUUID());
      const deposit = { kind: 'depositOffRamp', tokenAddress: receipt, amount: 1n } as const;
      await landAs(sessions.map((sessionId) => ({ ...deposit, sessionId })));
      const ends = ['confirmOffRampSettlement', 'refundOffRamp'] as const;
      await landAs(sessions.map((sessionId, at) => ({ kind: ends[at % 2] ?? ends[0], sessionId })));
      expect(await testbed.network.balanceOf(receipt, testbed.settlementAddress)).toBe(0n);
    },
  );

  it.each([
    { channels: 20, ledgers: 5 },
    { channels: 40, ledgers: 20 },
  ])(
    'has room for what lands before, long texts too, through $channels channels in $ledgers ledgers',
    { timeout: TEST_TIMEOUT_MS },
    async ({ channels, ledgers }) => {
      const tokenAddress = await open({ channels, devnet });
      const long = (at: number): NetworkCall => ({
        kind: 'retire',
        tokenAddress,
        amount: TONNE,
        note: `#${at}`.padEnd(1_024, 'n'),
        beneficiary: 'b'.repeat(256),
      });
      const calls = Array.from({ length: channels }, (_, at) => long(at));
      const outcomes = await landTogether(await prepareAll(testbed.network, calls));
      expect(outcomes.map(show)).toEqual(calls.map(() => 'succeeded'));
      expect(new Set(outcomes.map(ledgerOf)).size).toBeLessThanOrEqual(ledgers);
    },
  );
});

it('makes room for larger records than its own once some have landed', async () => {
  const tokenAddress = await open({ channels: 20 });
  const long = (at: number) => retire(tokenAddress, TONNE, `#${at}`.padEnd(1_024, 'n'));
  const short = await prepare(testbed.network, retire(tokenAddress, TONNE, 'short'));
  const [, ...others] = await prepareAll(
    testbed.network,
    Array.from({ length: 20 }, (_, at) => long(at)),
  );
  for (const outcome of await landTogether(others)) expect(show(outcome)).toBe('succeeded');
  // The footprint had room for records of its own size, because no larger record existed when it was signed.
  const [dead] = await landTogether([short]);
  expect(dead).toMatchObject({ status: 'dead', cause: 'invokeHostFunctionResourceLimitExceeded' });

  const again = await prepareAll(testbed.network, [
    retire(tokenAddress, TONNE, 'short'),
    ...Array.from({ length: 19 }, (_, at) => long(at)),
  ]);
  const [first, ...rest] = again;
  for (const outcome of await landTogether(rest)) expect(show(outcome)).toBe('succeeded');
  expect((await landTogether([first])).map(show)).toEqual(['succeeded']);
});

it.each([
  { channels: 20, characters: 3 },
  { channels: 20, characters: 330 },
  { channels: 22, characters: 210 },
  { channels: 27, characters: 3 },
])(
  'declares so little that $channels retirements with $characters characters fit into one ledger of the public network',
  async ({ channels, characters }) => {
    const tokenAddress = await open({ channels });
    const calls = Array.from({ length: channels }, (_, at) =>
      retire(tokenAddress, TONNE, `#${at}`.padEnd(characters, 'n')),
    );
    const all = await prepareAll(testbed.network, calls);
    const written = all.map((prepared) =>
      envelopeOf(prepared).tx().ext().sorobanData().resources().writeBytes(),
    );
    expect(written.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(286_720);
    for (const prepared of all) expect(footprintOf(prepared).length).toBeLessThanOrEqual(50);
    const outcomes = await landTogether(all);
    expect(outcomes.map(show)).toEqual(calls.map(() => 'succeeded'));
    expect(new Set(outcomes.map(ledgerOf)).size).toBe(1);
  },
);

it('calls a retirement dead, not refused, when more landed before it than it had room for', async () => {
  const tokenAddress = await open({ channels: 1 });
  const early = await testbed.network.draft(retire(tokenAddress, TONNE, 'early'));
  testbed.devnet.controls.release();
  for (let at = 0; at < 12; at += 1) await land(testbed.network, retire(tokenAddress, TONNE, `#${at}`));
  testbed.devnet.controls.hold();
  const [channel] = testbed.channels;
  if (!channel) throw new Error('There is no channel');
  const sequence = (await testbed.network.nextSequences()).get(channel.publicKey()) ?? 0n;
  const late = await early.sign({ source: channel.publicKey(), sequence });
  const [outcome] = await landTogether([late]);
  expect(outcome).toMatchObject({
    status: 'dead',
    proof: expect.stringContaining('Error(Storage, ExceededLimit)') as string,
    cause: 'Error(Storage, ExceededLimit)',
  });
  expect((await testbed.network.carbonTotals(tokenAddress)).totalRetirements).toBe(12);
  testbed.devnet.controls.release();
  await land(testbed.network, retire(tokenAddress, TONNE, 'again'));
});

it('names the next indexes in the footprint, within the network’s limits', async () => {
  const tokenAddress = await open({ channels: 3 });
  const footprint = footprintOf(await prepare(testbed.network, retire(tokenAddress, TONNE)));
  const places = (index: number) => footprint.indexOf(retirementKey(tokenAddress, index).toXDR('base64'));
  for (const index of [0, 1, 8]) expect(places(index)).toBeGreaterThanOrEqual(0);
  expect(new Set(footprint).size).toBe(footprint.length);
  const wide = await testbed.open({
    channelSecretKeys: Array.from({ length: 200 }, () => Keypair.random().secret()),
  });
  const [source] = wide.signingOrder?.accounts ?? [];
  const many = await (
    await wide.draft(retire(tokenAddress, TONNE))
  ).sign({ source: source ?? '', sequence: 1n });
  // The limit of the public network.
  expect(footprintOf(many).length).toBeLessThanOrEqual(200);
  expect(footprintOf(many).length).toBeGreaterThan(100);
});

it('leaves less room, and makes the call all the same, at a node that does not show the network’s settings', async () => {
  const tokenAddress = await open({ channels: 20 });
  const proxy = await startRewritingProxy(testbed.devnet.url);
  try {
    const isSetting = (key: unknown) =>
      xdr.LedgerKey.fromXDR(String(key), 'base64').switch().name === 'configSetting';
    proxy.onAnswer = ({ method, params }, answer) => {
      const keys = (params?.['keys'] ?? []) as unknown[];
      if (method === 'getLedgerEntries' && keys.some(isSetting)) answer.result = {};
    };
    const network = await testbed.open({ rpcUrl: proxy.url });
    const prepared = await prepare(network, retire(tokenAddress, TONNE));
    expect(footprintOf(prepared).length).toBe(25);
    const [outcome] = await landTogether([prepared]);
    expect(outcome).toMatchObject({ status: 'succeeded' });
  } finally {
    await proxy.close();
  }
});

it('binds custody’s authorisation to the envelope: no entry that another account could use', async () => {
  const tokenAddress = await open({ channels: 2 });
  const mint: NetworkCall = { kind: 'mint', tokenAddress, to: testbed.freshAddress(), amount: 1n };
  for (const call of [retire(tokenAddress, TONNE), mint]) {
    const prepared = await prepare(testbed.network, call);
    const envelope = envelopeOf(prepared);
    const text = Buffer.from(prepared.signedBytes).toString('base64');
    const transaction = TransactionBuilder.fromXDR(text, testbed.devnet.passphrase);
    if (!('operations' in transaction) || !('source' in transaction)) throw new Error('It is a fee bump');
    expect(transaction.source).toBe(testbed.channels[0]?.publicKey());
    const [operation] = transaction.operations;
    if (operation?.type !== 'invokeHostFunction') throw new Error('It calls no contract');
    expect(operation.source).toBe(testbed.custody.publicKey());
    for (const entry of operation.auth ?? []) {
      expect(entry.credentials().switch().name).toBe('sorobanCredentialsSourceAccount');
    }
    const hints = envelope.signatures().map((signature) => signature.hint().toString('hex'));
    const keys = [testbed.channels[0], testbed.custody].map((key) => key?.signatureHint().toString('hex'));
    expect(hints).toEqual(keys);
  }
});

it('signs with custody alone where there are no channels', async () => {
  const tokenAddress = await open({ channels: 0 });
  expect(testbed.network.signingOrder).toEqual({
    accounts: [testbed.custody.publicKey()],
    missing: [],
    unfunded: [],
    leastToSpend: '1 XLM',
    maxOpenPerAccount: 1,
    landsUnseenForSeconds: 300,
  });
  const prepared = await prepare(testbed.network, retire(tokenAddress, TONNE));
  expect(prepared.source).toBe(testbed.custody.publicKey());
  expect(envelopeOf(prepared).signatures()).toHaveLength(1);
  expect(envelopeOf(prepared).tx().operations()[0]?.sourceAccount()).toBeUndefined();
  const [outcome] = await landTogether([prepared]);
  expect(outcome).toMatchObject({ status: 'succeeded' });
});

it('signs the same bytes for the same draft and slot, and none for a slot of another account', async () => {
  const tokenAddress = await open({ channels: 1 });
  const draft = await testbed.network.draft(retire(tokenAddress, TONNE));
  const slot = { source: testbed.channels[0]?.publicKey() ?? '', sequence: 7n };
  expect(await draft.sign(slot)).toEqual(await draft.sign(slot));
  expect((await draft.sign({ ...slot, sequence: 8n })).hash).not.toBe((await draft.sign(slot)).hash);
  await expect(draft.sign({ ...slot, source: testbed.freshAddress() })).rejects.toThrow(
    'none of the accounts',
  );
  await expect(draft.sign(null)).rejects.toThrow('slot');
});
