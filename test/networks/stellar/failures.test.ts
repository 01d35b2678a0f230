/**
 * Transactions that landed and failed on Stellar: errors of the contract, limits of the network, and nodes
 * that keep no reasons.
 */
import { randomBytes } from 'node:crypto';
import { StrKey } from '@stellar/stellar-sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  deploy,
  deployCarbon,
  deployReceipt,
  land,
  mintedCarbon,
  prepare,
  prepareAll,
  refusalOf,
  retire,
  TONNE,
} from '../../../devnet/calls.ts';
import { SignerShortOfFunds } from '../../../src/ledger/network/port.ts';
import { readAccounts } from '../../../src/ledger/network/stellar/accounts.ts';
import { createNode } from '../../../src/ledger/network/stellar/node.ts';
import type {
  LedgerNetwork,
  NetworkCall,
  Outcome,
  PreparedTransaction,
} from '../../../src/ledger/network/port.ts';
import { startRewritingProxy } from '../../support/faults/rewritingProxy.ts';
import type { RewritingProxy } from '../../support/faults/rewritingProxy.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

let testbed: StellarTestbed;
afterEach(() => testbed.close());

async function landHeld(all: readonly PreparedTransaction[]): Promise<Outcome[]> {
  testbed.devnet.controls.hold();
  for (const prepared of all) {
    expect(await testbed.network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
  }
  testbed.devnet.controls.closeLedger();
  const outcomes = await Promise.all(all.map((prepared) => testbed.network.outcome(prepared)));
  testbed.devnet.controls.release();
  return outcomes;
}

const refusalsIn = (outcomes: readonly Outcome[]) =>
  outcomes.flatMap((outcome) => (outcome.status === 'refused' ? [outcome.refusal.reason] : []));

describe('a node that keeps no diagnostics', () => {
  const open = async (channels: number) => {
    testbed = await startStellarTestbed({ channels, devnet: { diagnostics: false } });
  };

  it('leaves the reason to a simulation of the same call: refused for good', async () => {
    await open(2);
    const tokenAddress = await mintedCarbon(testbed.network, 10n);
    const both = await prepareAll(testbed.network, [
      retire(tokenAddress, 6n * TONNE),
      retire(tokenAddress, 6n * TONNE),
    ]);
    const outcomes = await landHeld(both);
    expect(refusalsIn(outcomes)).toEqual(['INSUFFICIENT_BALANCE']);
    const refused = outcomes.find((outcome) => outcome.status === 'refused');
    expect(refused).toMatchObject({
      refusal: { message: expect.stringContaining('found by simulating it again') as string },
    });
  });

  it('is called dead, for a new attempt, when the same call would succeed now', async () => {
    await open(1);
    const tokenAddress = await mintedCarbon(testbed.network, 10n);
    const paused = await prepare(testbed.network, retire(tokenAddress, TONNE));
    await testbed.setPaused(tokenAddress, true);
    testbed.devnet.controls.hold();
    await testbed.network.broadcast(paused.signedBytes);
    testbed.devnet.controls.closeLedger();
    testbed.devnet.controls.release();
    await testbed.setPaused(tokenAddress, false);
    expect(await testbed.network.outcome(paused)).toMatchObject({
      status: 'dead',
      proof: expect.stringContaining('the node gives no reason') as string,
      cause: 'invokeHostFunctionTrapped, and the node gives no reason',
    });
    expect(await land(testbed.network, retire(tokenAddress, TONNE))).toEqual({
      kind: 'retired',
      retirementIndex: 0,
    });
  });
});

describe('the contract’s word', () => {
  async function together(first: NetworkCall, second: NetworkCall): Promise<string[]> {
    return refusalsIn(await landHeld(await prepareAll(testbed.network, [first, second])));
  }

  it('is named after the contract whose number it is, also of a token within a deposit', async () => {
    testbed = await startStellarTestbed({ channels: 2 });
    const { custody } = testbed;
    const receipt = await deploy(testbed.network, deployReceipt(4_000_000_000n));
    await land(testbed.network, {
      kind: 'mint',
      tokenAddress: receipt,
      to: custody.publicKey(),
      amount: 100n,
    });
    const deposit = (sessionId: string, amount: bigint) =>
      ({ kind: 'depositOffRamp', sessionId, tokenAddress: receipt, amount }) as const;
    expect(await together(deposit('a', 60n), deposit('b', 60n))).toEqual(['INSUFFICIENT_BALANCE']);
    expect(await together(deposit('c', 1n), deposit('c', 2n))).toEqual(['REFERENCE_ALREADY_USED']);
    const resolve = { sessionId: 'c' };
    expect(
      await together({ kind: 'confirmOffRampSettlement', ...resolve }, { kind: 'refundOffRamp', ...resolve }),
    ).toEqual(['WRONG_STATUS']);
  });

  it('is not needed where no contract stands: no deposit was made there', async () => {
    testbed = await startStellarTestbed({ channels: 1 });
    const { network } = testbed;
    const nowhere = StrKey.encodeContract(randomBytes(32));
    expect(await network.offRampDeposit(nowhere, 'a')).toBeNull();
    const token = await deploy(network, deployCarbon());
    expect((await refusalOf(network.offRampDeposit(token, 'a'))).reason).toBe('WRONG_TEMPLATE');
  });

  it('is reported for a salt that another deploy used in the same ledger', async () => {
    testbed = await startStellarTestbed({ channels: 2 });
    const call = deployCarbon();
    expect(await together(call, { ...call, name: 'Another' })).toEqual(['SALT_ALREADY_USED']);
  });
});

describe('a deployment fee that custody has too few lumens for', () => {
  const FEE_STROOPS = 70_000_000n;

  it.each([
    ['names', true],
    ['keeps', false],
  ])('is no refusal of the deployment, where the node %s the reason', async (_, diagnostics) => {
    testbed = await startStellarTestbed({ channels: 2, devnet: { deploymentFee: FEE_STROOPS, diagnostics } });
    const { devnet, network, options } = testbed;
    const custody = testbed.custody.publicKey();
    const { byAddress } = await readAccounts(createNode(options), [custody]);
    const spendableStroops = byAddress.get(custody)?.spendableStroops ?? 0n;
    devnet.fund(custody, FEE_STROOPS + FEE_STROOPS / 2n - spendableStroops);

    const outcomes = await landHeld(await prepareAll(network, [deployCarbon(), deployCarbon()]));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['dead', 'succeeded']);
    const draft = network.draft(deployCarbon());
    await expect(draft).rejects.toThrow(SignerShortOfFunds);
    await expect(draft).rejects.toThrow(custody);
    devnet.fund(custody, FEE_STROOPS);
    expect(await land(network, deployCarbon())).toMatchObject({ kind: 'deployed' });
  });
});

describe('an explanation that the node does not give', () => {
  let proxy: RewritingProxy;
  let behind: LedgerNetwork;
  let tokenAddress: string;

  beforeEach(async () => {
    testbed = await startStellarTestbed({ channels: 2, devnet: { diagnostics: false } });
    proxy = await startRewritingProxy(testbed.devnet.url);
    behind = await testbed.open({ rpcUrl: proxy.url });
    tokenAddress = await mintedCarbon(testbed.network, 10n);
  });
  afterEach(() => proxy.close());

  /** Fails each simulation with the next error, and with the last one from then on. */
  const failWith = (...errors: string[]) => {
    proxy.onAnswer = ({ method }, { result }) => {
      if (method !== 'simulateTransaction' || !result) return;
      for (const name of Object.keys(result)) if (name !== 'latestLedger') delete result[name];
      result['error'] = errors.length > 1 ? errors.shift() : errors[0];
    };
  };

  it('does not keep what landed and failed open for ever', async () => {
    const both = await prepareAll(testbed.network, [
      retire(tokenAddress, 6n * TONNE),
      retire(tokenAddress, 6n * TONNE),
    ]);
    await landHeld(both);
    failWith('the node is out of order');
    const outcomes = await Promise.all(both.map((prepared) => behind.outcome(prepared)));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['dead', 'succeeded']);
  });

  it('is not made up from numbers that no interface promises', async () => {
    failWith('HostError: Error(Contract, #11)');
    expect((await refusalOf(behind.draft(deployCarbon()))).reason).toBe('OTHER');
    expect((await refusalOf(behind.draft(retire(tokenAddress, TONNE)))).reason).toBe('OTHER');
    failWith('HostError: Error(Contract, #5)');
    expect((await refusalOf(behind.draft(deployCarbon()))).reason).toBe('OTHER');
    failWith('HostError: Error(Contract, #2)');
    const deposit = { kind: 'depositOffRamp', sessionId: 'never', tokenAddress, amount: 1n } as const;
    expect((await refusalOf(behind.draft(deposit))).reason).toBe('OTHER');
    expect((await refusalOf(behind.draft(retire(tokenAddress, TONNE)))).reason).toBe('INSUFFICIENT_BALANCE');
    failWith('HostError: Error(Contract, #2)', 'the node does not show the balance');
    expect((await refusalOf(behind.draft(retire(tokenAddress, TONNE)))).reason).toBe('INSUFFICIENT_BALANCE');
  });
});
