/**
 * Custody checks what a node gives it to sign on Stellar. The tests also show why custody signs envelopes: a
 * signed entry is valid in any transaction.
 */
import {
  Account,
  Address,
  Keypair,
  nativeToScVal,
  Operation,
  rpc,
  TransactionBuilder,
  xdr,
} from '@stellar/stellar-sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import type { LedgerNetwork, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import {
  deploy,
  deployReceipt,
  freshSalt,
  land,
  mintedCarbon,
  prepare,
  prepareAll,
  retire,
  settled,
  TONNE,
} from '../../../devnet/calls.ts';
import { startRewritingProxy } from '../../support/faults/rewritingProxy.ts';
import type { RewritingProxy } from '../../support/faults/rewritingProxy.ts';
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import type { StellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';

let testbed: StellarTestbed;
let proxy: RewritingProxy;
/** An adapter on the same network, through the proxy. */
let behindProxy: LedgerNetwork;
let tokenAddress: string;
const warnings: unknown[] = [];

beforeEach(async () => {
  testbed = await startStellarTestbed({ channels: 2 });
  proxy = await startRewritingProxy(testbed.devnet.url);
  behindProxy = await testbed.open({
    rpcUrl: proxy.url,
    log: { warn: (text: unknown) => warnings.push(text) },
  });
  tokenAddress = await mintedCarbon(testbed.network, 10n);
});
afterEach(async () => {
  await proxy.close();
  await testbed.close();
});

function invocationOf(
  contract: string,
  name: string,
  args: xdr.ScVal[],
  nested: xdr.SorobanAuthorizedInvocation[] = [],
) {
  return new xdr.SorobanAuthorizedInvocation({
    function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(
      new xdr.InvokeContractArgs({
        contractAddress: new Address(contract).toScAddress(),
        functionName: name,
        args,
      }),
    ),
    subInvocations: nested,
  });
}

/** A transfer of all of custody's tokens to another account. */
function theft(): xdr.SorobanAuthorizedInvocation {
  const thief = Keypair.random().publicKey();
  return invocationOf(tokenAddress, 'transfer', [
    new Address(testbed.custody.publicKey()).toScVal(),
    new Address(thief).toScVal(),
    nativeToScVal(10n * TONNE, { type: 'i128' }),
  ]);
}

/** Makes the node's simulations ask for something else. */
function tamper(change: (entry: xdr.SorobanAuthorizationEntry) => void): void {
  proxy.onAnswer = ({ method }, { result }) => {
    if (method !== 'simulateTransaction') return;
    const [first] = (result?.['results'] ?? []) as { auth?: string[] }[];
    if (!first?.auth) return;
    first.auth = first.auth.map((text) => {
      const entry = xdr.SorobanAuthorizationEntry.fromXDR(text, 'base64');
      change(entry);
      return entry.toXDR('base64');
    });
  };
}

describe('a node that asks for more than the call', () => {
  const draftIt = () => behindProxy.draft(retire(tokenAddress, TONNE));

  it('gets nothing signed for another call', async () => {
    await draftIt();
    tamper((entry) => entry.rootInvocation(theft()));
    await expect(draftIt()).rejects.toThrow(/asks for transfer .* nothing was signed/);
    await expect(draftIt()).rejects.toThrow(NetworkUnavailable);
  });

  it('gets nothing signed for a call below the call', async () => {
    tamper((entry) => entry.rootInvocation().subInvocations([theft()]));
    await expect(draftIt()).rejects.toThrow(/nothing was signed/);
  });

  it('gets nothing signed for other arguments', async () => {
    tamper((entry) => entry.rootInvocation().function().contractFn().args([xdr.ScVal.scvVoid()]));
    await expect(draftIt()).rejects.toThrow(/asks for retire .* nothing was signed/);
  });

  it('gets a deposit’s own transfer signed, and no larger one', async () => {
    const receipt = await deploy(testbed.network, deployReceipt(4_000_000_000n));
    const custody = testbed.custody.publicKey();
    await land(testbed.network, { kind: 'mint', tokenAddress: receipt, to: custody, amount: 100n });
    const deposit = { kind: 'depositOffRamp', sessionId: 's', tokenAddress: receipt, amount: 10n } as const;
    const transfer = (amount: bigint) =>
      invocationOf(receipt, 'transfer', [
        new Address(custody).toScVal(),
        new Address(testbed.settlementAddress).toScVal(),
        nativeToScVal(amount, { type: 'i128' }),
      ]);
    tamper((entry) => entry.rootInvocation(transfer(10n)));
    await behindProxy.draft(deposit);
    tamper((entry) => entry.rootInvocation(transfer(100n)));
    await expect(behindProxy.draft(deposit)).rejects.toThrow(/nothing was signed/);
    // The same transfer is not part of any other call.
    tamper((entry) => entry.rootInvocation(transfer(10n)));
    await expect(draftIt()).rejects.toThrow(/nothing was signed/);
  });

  it('can’t name a fee that the operator never meant to pay', async () => {
    proxy.onAnswer = ({ method }, { result }) => {
      if (method === 'simulateTransaction' && result) result['minResourceFee'] = '200000001';
    };
    await expect(draftIt()).rejects.toThrow(/beyond any of its kind: nothing was signed/);
  });

  it('can’t have a factory put contracts where they would not be found again', async () => {
    proxy.onAnswer = ({ method }, { result }) => {
      const [first] = (result?.['results'] ?? []) as { xdr: string }[];
      if (method === 'simulateTransaction' && first) {
        first.xdr = new Address(testbed.settlementAddress).toScVal().toXDR('base64');
      }
    };
    const deployed = {
      kind: 'deployRampSettlement',
      salt: freshSalt(),
      treasury: testbed.freshAddress(),
    } as const;
    await expect(behindProxy.draft(deployed)).rejects.toThrow(/lead to .* nothing was signed/);
  });
});

describe('a node that does not know the source of operations', () => {
  beforeEach(() => {
    // A simple node does so: it reads only the transaction's source, and asks for an entry of custody's.
    proxy.onRequest = ({ method, params }) => {
      if (method !== 'simulateTransaction' || !params) return;
      const envelope = xdr.TransactionEnvelope.fromXDR(String(params['transaction']), 'base64');
      for (const operation of envelope.v1().tx().operations()) operation.sourceAccount(null);
      params['transaction'] = envelope.toXDR('base64');
    };
  });

  it('gets an entry signed by custody, and the transaction by the channel alone', async () => {
    const prepared = await prepare(behindProxy, retire(tokenAddress, TONNE));
    const envelope = xdr.TransactionEnvelope.fromXDR(Buffer.from(prepared.signedBytes)).v1();
    expect(envelope.signatures()).toHaveLength(1);
    expect(await behindProxy.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    expect(await settled(behindProxy, prepared)).toMatchObject({ status: 'succeeded' });
    expect(warnings).toContainEqual(expect.stringContaining('authorisation entries'));
  });

  it('gets no entry signed for a deposit’s transfer alone, which another account could make without the deposit', async () => {
    const receipt = await deploy(testbed.network, deployReceipt(4_000_000_000n));
    const custody = testbed.custody.publicKey();
    await land(testbed.network, { kind: 'mint', tokenAddress: receipt, to: custody, amount: 100n });
    const deposit = { kind: 'depositOffRamp', sessionId: 's', tokenAddress: receipt, amount: 10n } as const;
    await expect(behindProxy.draft(deposit)).rejects.toThrow(/asks for transfer .* nothing was signed/);
    await land(testbed.network, deposit);
  });

  it('lets other accounts use that entry: so a failure for it is never called dead', async () => {
    const prepared = await prepare(behindProxy, retire(tokenAddress, TONNE));
    await landElsewhere(prepared);
    expect((await testbed.network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
    expect(await behindProxy.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    // A newly signed call would burn a second time.
    expect(await settled(behindProxy, prepared)).toMatchObject({ status: 'undeterminable' });
  });

  describe('and a transaction that did not land in its time', () => {
    let prepared: PreparedTransaction;
    beforeEach(async () => {
      prepared = await prepare(behindProxy, retire(tokenAddress, TONNE));
      testbed.devnet.controls.hold();
      await testbed.advanceClock(400);
      expect((await behindProxy.status()).closedAt).toBeGreaterThan(prepared.validUntil ?? 0n);
    });

    it('is not dead before its entry has expired, and then a new one is safe', async () => {
      expect(await behindProxy.outcome(prepared)).toEqual({ status: 'pending' });
      testbed.devnet.controls.skipLedgers(100);
      expect(await behindProxy.outcome(prepared)).toMatchObject({ status: 'dead' });
      testbed.devnet.controls.release();
      expect(await land(behindProxy, retire(tokenAddress, TONNE))).toEqual({
        kind: 'retired',
        retirementIndex: 0,
      });
    });

    it('is never dead when its entry was used', async () => {
      testbed.devnet.controls.release();
      await landElsewhere(prepared);
      expect(await settled(behindProxy, prepared)).toMatchObject({
        status: 'undeterminable',
        reason: expect.stringContaining('it was used there') as string,
      });
      expect((await testbed.network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
    });

    it('is left to people when the ledger need not show any more whether it was used', async () => {
      testbed.devnet.controls.skipLedgers(17_400);
      expect(await behindProxy.outcome(prepared)).toMatchObject({ status: 'undeterminable' });
    });
  });

  it('lets its entry be used after the contract refused the transaction too: so that waits as well', async () => {
    const [first, second] = await prepareAll(behindProxy, [
      retire(tokenAddress, 6n * TONNE, 'first'),
      retire(tokenAddress, 6n * TONNE, 'second'),
    ]);
    await behindProxy.broadcast(first.signedBytes);
    expect(await settled(behindProxy, first)).toMatchObject({ status: 'succeeded' });
    testbed.devnet.controls.hold();
    await behindProxy.broadcast(second.signedBytes);
    testbed.devnet.controls.closeLedger();
    expect(await behindProxy.outcome(second)).toEqual({ status: 'pending' });
    testbed.devnet.controls.skipLedgers(100);
    expect(await behindProxy.outcome(second)).toMatchObject({
      status: 'refused',
      refusal: { reason: 'INSUFFICIENT_BALANCE' },
    });
  });
});

describe('a node that asks for entries of the transaction’s own source as well', () => {
  beforeEach(() => {
    tamper((entry) => {
      const address = new Address(asked).toScAddress();
      const nonce = xdr.Int64.fromString('7');
      const signature = xdr.ScVal.scvVoid();
      entry.credentials(
        xdr.SorobanCredentials.sorobanCredentialsAddress(
          new xdr.SorobanAddressCredentials({ address, nonce, signatureExpirationLedger: 0, signature }),
        ),
      );
    });
  });
  let asked: string;

  const addressCredentialsIn = (envelope: xdr.TransactionEnvelope) =>
    envelope
      .v1()
      .tx()
      .operations()
      .flatMap((operation) => operation.body().invokeHostFunctionOp().auth())
      .filter((entry) => entry.credentials().switch().name !== 'sorobanCredentialsSourceAccount');

  it('gets custody’s envelope where custody has no channels, and nothing that works outside of it', async () => {
    asked = testbed.custody.publicKey();
    const alone = await testbed.open({ rpcUrl: proxy.url, channelSecretKeys: [] });
    const prepared = await prepare(alone, retire(tokenAddress, TONNE));
    expect(addressCredentialsIn(xdr.TransactionEnvelope.fromXDR(Buffer.from(prepared.signedBytes)))).toEqual(
      [],
    );
    await alone.broadcast(prepared.signedBytes);
    expect(await settled(alone, prepared)).toMatchObject({ status: 'succeeded' });
  });

  it('gets a holder’s envelope', async () => {
    const holder = Keypair.random();
    asked = holder.publicKey();
    testbed.devnet.fund(asked);
    await land(testbed.network, { kind: 'mint', tokenAddress, to: asked, amount: TONNE });
    const act = { kind: 'retire', tokenAddress, amount: TONNE, beneficiary: 'Me', note: '' } as const;
    const unsigned = await behindProxy.prepareForHolder(act, asked);
    const transaction = TransactionBuilder.fromXDR(unsigned.payload, testbed.devnet.passphrase);
    expect(addressCredentialsIn(transaction.toEnvelope())).toEqual([]);
    transaction.sign(holder);
    const prepared = await behindProxy.openSigned(act, unsigned, transaction.toXDR());
    await behindProxy.broadcast(prepared.signedBytes);
    expect(await settled(behindProxy, prepared)).toMatchObject({ status: 'succeeded' });
  });
});

/**
 * Does what another account can do with a signed entry: lands it in its own transaction, under another hash.
 */
async function landElsewhere(prepared: PreparedTransaction): Promise<void> {
  const { devnet } = testbed;
  const stranger = Keypair.random();
  devnet.fund(stranger.publicKey());
  const server = new rpc.Server(devnet.url, { allowHttp: true });
  const text = Buffer.from(prepared.signedBytes).toString('base64');
  const original = TransactionBuilder.fromXDR(text, devnet.passphrase);
  const [operation] = original.operations;
  if (operation?.type !== 'invokeHostFunction') throw new Error('It calls no contract');
  const account = await server.getAccount(stranger.publicKey());
  const copy = new TransactionBuilder(new Account(stranger.publicKey(), account.sequenceNumber()), {
    fee: '1000',
    networkPassphrase: devnet.passphrase,
    timebounds: { minTime: 0, maxTime: 0 },
    sorobanData: xdr.TransactionEnvelope.fromXDR(text, 'base64').v1().tx().ext().sorobanData(),
  })
    .addOperation(Operation.invokeHostFunction({ func: operation.func, auth: operation.auth ?? [] }))
    .build();
  copy.sign(stranger);
  const sent = await server.sendTransaction(copy);
  const landed = await server.pollTransaction(sent.hash, { attempts: 200, sleepStrategy: () => 25 });
  expect(landed.status).toBe('SUCCESS');
}
