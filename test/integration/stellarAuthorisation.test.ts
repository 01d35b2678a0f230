/**
 * What custody signs on Stellar is looked at first, because a node says what to sign. And why it signs envelopes:
 * a signed entry is good in anybody's transaction.
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
import { NetworkUnavailable } from '../../src/ledger/network/port.ts';
import type { LedgerNetwork, PreparedTransaction } from '../../src/ledger/network/port.ts';
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
} from '../contract/calls.ts';
import { startRewritingProxy } from '../harness/rewritingProxy.ts';
import type { RewritingProxy } from '../harness/rewritingProxy.ts';
import { stageStellar } from '../harness/stellarStage.ts';
import type { StellarStage } from '../harness/stellarStage.ts';

let stage: StellarStage;
let proxy: RewritingProxy;
/** On the same network, through the proxy. */
let behindProxy: LedgerNetwork;
let tokenAddress: string;
const warnings: unknown[] = [];

beforeEach(async () => {
  stage = await stageStellar({ channels: 2 });
  proxy = await startRewritingProxy(stage.simulator.url);
  behindProxy = await stage.open({
    rpcUrl: proxy.url,
    log: { warn: (text: unknown) => warnings.push(text) },
  });
  tokenAddress = await mintedCarbon(stage.network, 10n);
});
afterEach(async () => {
  await proxy.close();
  await stage.close();
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

/** The transfer of all of custody's tokens to somebody. */
function theft(): xdr.SorobanAuthorizedInvocation {
  const thief = Keypair.random().publicKey();
  return invocationOf(tokenAddress, 'transfer', [
    new Address(stage.custody.publicKey()).toScVal(),
    new Address(thief).toScVal(),
    nativeToScVal(10n * TONNE, { type: 'i128' }),
  ]);
}

/** Has the node's simulations ask for something else. */
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
    const receipt = await deploy(stage.network, deployReceipt(4_000_000_000n));
    const custody = stage.custody.publicKey();
    await land(stage.network, { kind: 'mint', tokenAddress: receipt, to: custody, amount: 100n });
    const deposit = { kind: 'initiateOffRamp', sessionId: 's', tokenAddress: receipt, amount: 10n } as const;
    const transfer = (amount: bigint) =>
      invocationOf(receipt, 'transfer', [
        new Address(custody).toScVal(),
        new Address(stage.settlementAddress).toScVal(),
        nativeToScVal(amount, { type: 'i128' }),
      ]);
    tamper((entry) => entry.rootInvocation(transfer(10n)));
    await behindProxy.draft(deposit);
    tamper((entry) => entry.rootInvocation(transfer(100n)));
    await expect(behindProxy.draft(deposit)).rejects.toThrow(/nothing was signed/);
    // The same transfer is no part of any other call.
    tamper((entry) => entry.rootInvocation(transfer(10n)));
    await expect(draftIt()).rejects.toThrow(/nothing was signed/);
  });

  it('can’t name a fee that the operator never meant to pay', async () => {
    proxy.onAnswer = ({ method }, { result }) => {
      if (method === 'simulateTransaction' && result) result['minResourceFee'] = '200000001';
    };
    const draft = await draftIt();
    const source = stage.channels[0]?.publicKey() ?? '';
    await expect(draft.sign({ source, sequence: 1n })).rejects.toThrow(
      /beyond any of its kind: nothing was signed/,
    );
  });

  it('can’t have a factory put contracts where they would not be found again', async () => {
    proxy.onAnswer = ({ method }, { result }) => {
      const [first] = (result?.['results'] ?? []) as { xdr: string }[];
      if (method === 'simulateTransaction' && first) {
        first.xdr = new Address(stage.settlementAddress).toScVal().toXDR('base64');
      }
    };
    const deployed = {
      kind: 'deployRampSettlement',
      salt: freshSalt(),
      treasury: stage.freshAddress(),
    } as const;
    await expect(behindProxy.draft(deployed)).rejects.toThrow(/lead to .* nothing was signed/);
  });
});

describe('a node that does not know the source of operations', () => {
  beforeEach(() => {
    // So does a simple one: it looks at the transaction's source alone, and asks for an entry of custody's.
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

  it('gets no entry signed for a deposit’s transfer alone, which anybody could make without the deposit', async () => {
    const receipt = await deploy(stage.network, deployReceipt(4_000_000_000n));
    const custody = stage.custody.publicKey();
    await land(stage.network, { kind: 'mint', tokenAddress: receipt, to: custody, amount: 100n });
    const deposit = { kind: 'initiateOffRamp', sessionId: 's', tokenAddress: receipt, amount: 10n } as const;
    await expect(behindProxy.draft(deposit)).rejects.toThrow(/asks for transfer .* nothing was signed/);
    await land(stage.network, deposit);
  });

  it('lets anybody use that entry: so a failure for it is never called dead', async () => {
    const prepared = await prepare(behindProxy, retire(tokenAddress, TONNE));
    await landElsewhere(prepared);
    expect((await stage.network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
    expect(await behindProxy.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
    // Signing the call again would burn a second time.
    expect(await settled(behindProxy, prepared)).toMatchObject({ status: 'undeterminable' });
  });
});

/** What anyone who sees a signed entry can do: land it in a transaction of their own, under another hash. */
async function landElsewhere(prepared: PreparedTransaction): Promise<void> {
  const { simulator } = stage;
  const stranger = Keypair.random();
  simulator.fund(stranger.publicKey());
  const server = new rpc.Server(simulator.url, { allowHttp: true });
  const text = Buffer.from(prepared.signedBytes).toString('base64');
  const original = TransactionBuilder.fromXDR(text, simulator.passphrase);
  const [operation] = original.operations;
  if (operation?.type !== 'invokeHostFunction') throw new Error('It calls no contract');
  const account = await server.getAccount(stranger.publicKey());
  const copy = new TransactionBuilder(new Account(stranger.publicKey(), account.sequenceNumber()), {
    fee: '1000',
    networkPassphrase: simulator.passphrase,
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
