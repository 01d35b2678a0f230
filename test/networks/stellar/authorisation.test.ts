/**
 * Custody checks what a node gives it to sign on Stellar, and signs envelopes alone: a signed entry would be
 * valid in any transaction.
 */
import { Address, Keypair, nativeToScVal, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import {
  deploy,
  deployReceipt,
  freshSalt,
  land,
  mintedCarbon,
  prepare,
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

beforeEach(async () => {
  testbed = await startStellarTestbed({ channels: 2 });
  proxy = await startRewritingProxy(testbed.devnet.url);
  behindProxy = await testbed.open({ rpcUrl: proxy.url });
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

  it('gets custody’s envelope all the same, and nothing that works outside of it', async () => {
    const prepared = await prepare(behindProxy, retire(tokenAddress, TONNE));
    const envelope = xdr.TransactionEnvelope.fromXDR(Buffer.from(prepared.signedBytes));
    expect(envelope.v1().signatures()).toHaveLength(2);
    expect(addressCredentialsIn(envelope)).toEqual([]);
    await behindProxy.broadcast(prepared.signedBytes);
    expect(await settled(behindProxy, prepared)).toMatchObject({ status: 'succeeded' });
  });

  it('gets a deposit’s transfer bound to the deposit', async () => {
    const receipt = await deploy(testbed.network, deployReceipt(4_000_000_000n));
    const custody = testbed.custody.publicKey();
    await land(testbed.network, { kind: 'mint', tokenAddress: receipt, to: custody, amount: 100n });
    await land(behindProxy, { kind: 'depositOffRamp', sessionId: 's', tokenAddress: receipt, amount: 10n });
    expect(await testbed.network.balanceOf(receipt, testbed.settlementAddress)).toBe(10n);
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

/** Authorisations in an envelope that are valid outside it. */
function addressCredentialsIn(envelope: xdr.TransactionEnvelope): xdr.SorobanAuthorizationEntry[] {
  return envelope
    .v1()
    .tx()
    .operations()
    .flatMap((operation) => operation.body().invokeHostFunctionOp().auth())
    .filter((entry) => entry.credentials().switch().name !== 'sorobanCredentialsSourceAccount');
}
