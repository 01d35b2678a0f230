/**
 * Who may do what on the simulated network: authorisation entries, their signatures, nonces and trees.
 */
import { Address, authorizeEntry, hash, Keypair, Operation, rpc, xdr } from '@stellar/stellar-sdk';
import type { Transaction } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DepositAuth } from './soroban/contracts/settlements.ts';
import { address, bytes32, i128, string } from './soroban/values.ts';
import { MINTED, retireArguments, setStage } from './stage.ts';
import type { Stage } from './stage.ts';

type SignEntry = (entry: xdr.SorobanAuthorizationEntry) => Promise<xdr.SorobanAuthorizationEntry>;

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage.simulator.close());

const latest = () => stage.simulator.controls.chain.history.latest().sequence;

/** A call of `stage.custody`'s, sent by a channel; `sign` makes of each entry what is sent. */
async function byChannel(
  channel: Keypair,
  call: { contract: string; name: string; args: xdr.ScVal[] },
  sign: SignEntry,
): Promise<Transaction> {
  const { client } = stage;
  const source = await client.server.getAccount(channel.publicKey());
  const draft = client.build(source, call.contract, call.name, call.args);
  const simulated = await client.simulate(draft);
  const entries = await Promise.all((simulated.result?.auth ?? []).map(sign));
  return assembled(draft, simulated, entries, channel);
}

function assembled(
  draft: Transaction,
  simulated: rpc.Api.SimulateTransactionSuccessResponse,
  auth: xdr.SorobanAuthorizationEntry[],
  signer: Keypair,
): Transaction {
  const [operation] = draft.operations;
  if (operation?.type !== 'invokeHostFunction') throw new Error('A contract call was expected');
  const transaction = rpc
    .assembleTransaction(draft, simulated)
    .clearOperations()
    .addOperation(Operation.invokeHostFunction({ func: operation.func, auth }))
    .build();
  transaction.sign(signer);
  return transaction;
}

function signedBy(keys: Keypair, validLedgers = 100, passphrase = stage.simulator.passphrase): SignEntry {
  return (entry) => authorizeEntry(entry, keys, latest() + validLedgers, passphrase);
}

/** What the host said first, of a call that landed in vain. */
async function refusalOf(transaction: Transaction): Promise<string> {
  const landed = await stage.client.land(transaction);
  if (landed.status !== rpc.Api.GetTransactionStatus.FAILED) return landed.status;
  const texts = (landed.diagnosticEventsXdr ?? []).flatMap((event) => {
    const body = event.event().body().v0();
    const [topics, data] = [body.topics(), body.data()];
    if (topics[1]?.switch().name !== 'scvError') return [];
    const message = data.switch().name === 'scvVec' ? data.vec()?.[0] : data;
    return [Buffer.from(message?.str() ?? '').toString('utf8')];
  });
  return texts[0] ?? '';
}

const retireCall = (amount = 1n) => ({
  contract: stage.token,
  name: 'retire',
  args: retireArguments(stage.custody, amount),
});

describe('an authorisation entry', () => {
  it('has a nonce to sign when another than the source is asked, and its key is in the footprint', async () => {
    const { client, custody, account } = stage;
    const channel = account();
    const source = await client.server.getAccount(channel.publicKey());
    const { contract, name, args } = retireCall();
    const simulated = await client.simulate(client.build(source, contract, name, args));
    const [entry, ...others] = simulated.result?.auth ?? [];
    expect(others).toEqual([]);
    const credentials = entry?.credentials().address();
    expect(Address.fromScAddress(credentials?.address() as xdr.ScAddress).toString()).toBe(
      custody.publicKey(),
    );
    expect(credentials?.signature().switch().name).toBe('scvVoid');
    const nonces = simulated.transactionData
      .build()
      .resources()
      .footprint()
      .readWrite()
      .filter((key) => key.switch().name === 'contractData')
      .map((key) => key.contractData().key())
      .filter((key) => key.switch().name === 'scvLedgerKeyNonce')
      .map((key) => key.nonceKey().nonce().toString());
    expect(nonces).toEqual([credentials?.nonce().toString()]);
  });

  it('lets a channel land what custody signed', async () => {
    const { client, custody, token, account } = stage;
    const before = (await client.read(token, 'balance', [address(custody.publicKey())])) as bigint;
    const transaction = await byChannel(account(), retireCall(3n), signedBy(custody));
    expect((await client.land(transaction)).status).toBe('SUCCESS');
    expect(await client.read(token, 'balance', [address(custody.publicKey())])).toBe(before - 3n);
  });

  it('is good for one use of its nonce', async () => {
    const { client, custody, account } = stage;
    const first = await byChannel(account(), retireCall(), signedBy(custody));
    expect((await client.land(first)).status).toBe('SUCCESS');
    const again = account();
    const envelope = first.toEnvelope();
    const auth = envelope.v1().tx().operations()[0]?.body().invokeHostFunctionOp().auth() ?? [];
    const { contract, name, args } = retireCall();
    const draft = client.build(await client.server.getAccount(again.publicKey()), contract, name, args);
    // A fresh footprint, so that the nonce's key alone is the old one.
    const simulated = await client.simulate(draft);
    const resources = simulated.transactionData.build().resources().footprint();
    const oldNonce = first
      .toEnvelope()
      .v1()
      .tx()
      .ext()
      .sorobanData()
      .resources()
      .footprint()
      .readWrite()
      .filter((key) => isNonce(key));
    simulated.transactionData.setReadWrite([
      ...resources.readWrite().filter((key) => !isNonce(key)),
      ...oldNonce,
    ]);
    expect(await refusalOf(assembled(draft, simulated, auth, again))).toBe(
      'nonce already exists for address',
    );
  });

  it.each([
    [
      'is not signed',
      async (entry: xdr.SorobanAuthorizationEntry) => entry,
      'failed account authentication with error',
    ],
    [
      'is signed by another key',
      async (entry: xdr.SorobanAuthorizationEntry) => {
        const thief = Keypair.random();
        return authorizeEntry(
          entry,
          async (preimage) => ({
            signature: thief.sign(hash(preimage.toXDR())),
            publicKey: thief.publicKey(),
          }),
          latest() + 100,
          stage.simulator.passphrase,
        );
      },
      'failed account authentication with error',
    ],
    [
      'was signed for another time',
      async (entry: xdr.SorobanAuthorizationEntry) => {
        const signed = await signedBy(stage.custody)(entry);
        signed
          .credentials()
          .address()
          .signatureExpirationLedger(latest() + 200);
        return signed;
      },
      'failed account authentication with error',
    ],
    [
      'was signed for too long a time',
      async (entry: xdr.SorobanAuthorizationEntry) => signedBy(stage.custody, 4_000_000)(entry),
      'signature expiration is too late',
    ],
    [
      'was signed for too short a time',
      async (entry: xdr.SorobanAuthorizationEntry) => signedBy(stage.custody, 0)(entry),
      'signature has expired',
    ],
    [
      'was signed for another amount',
      async (entry: xdr.SorobanAuthorizationEntry) => {
        const other = xdr.SorobanAuthorizationEntry.fromXDR(entry.toXDR());
        const call = other.rootInvocation().function().contractFn();
        call.args(retireArguments(stage.custody, 2n));
        return signedBy(stage.custody)(other);
      },
      'Unauthorized function call for address',
    ],
  ])('does not help when it %s', async (_, sign, refusal) => {
    const transaction = await byChannel(stage.account(), retireCall(), sign);
    expect(await refusalOf(transaction)).toBe(refusal);
  });

  it('was signed for another network', async () => {
    const { custody, account } = stage;
    const foreign: SignEntry = async (entry) => {
      const signed = await signedBy(custody)(entry);
      const elsewhere = await authorizeEntry(entry, custody, latest() + 100, 'Another Network');
      signed.credentials().address().signature(elsewhere.credentials().address().signature());
      return signed;
    };
    expect(await refusalOf(await byChannel(account(), retireCall(), foreign))).toBe(
      'failed account authentication with error',
    );
  });

  it('is checked by a simulation that is given it', async () => {
    const { client, custody, account } = stage;
    const good = await byChannel(account(), retireCall(), signedBy(custody));
    expect(rpc.Api.isSimulationSuccess(await client.server.simulateTransaction(good))).toBe(true);
    const bad = await byChannel(account(), retireCall(), async (entry) => entry);
    const answer = await client.server.simulateTransaction(bad);
    expect(rpc.Api.isSimulationError(answer) && answer.error).toContain('Error(Auth, InvalidAction)');
    const recording = await client.server.simulateTransaction(good, undefined, 'record');
    expect(rpc.Api.isSimulationError(recording) && recording.error).toContain(
      "cannot set authMode to 'record'",
    );
  });
});

describe('roles', () => {
  it('are the admin’s: a simulation by others asks for the admin’s signature', async () => {
    const { client, custody, token, account } = stage;
    const stranger = account();
    const args = [address(stranger.publicKey()), i128(1n)];
    await expect(client.prepare(stranger, token, 'mint', args)).rejects.toThrow('Nobody here can sign');
    const landed = await client.land(await client.prepare(stranger, token, 'mint', args, [custody]));
    expect(landed.status).toBe('SUCCESS');
  });
});

describe.each<DepositAuth>(['root', 'nested'])('a deposit, authorised at the %s', (depositAuth) => {
  let settlement: string;
  let shared: Stage;

  beforeAll(async () => {
    shared = stage;
    stage = await setStage({ depositAuth });
    const { simulator, client, custody } = stage;
    const owner = address(custody.publicKey());
    settlement = String(
      await client.call(custody, simulator.settlementFactory, 'deploy_ramp_settlement', [
        owner,
        address(simulator.nativeAsset),
        bytes32(`0x${'44'.repeat(32)}`),
        owner,
        owner,
      ]),
    );
  });
  afterAll(async () => {
    await stage.simulator.close();
    stage = shared;
  });

  const reference = (digit: string) => bytes32(`0x${digit.repeat(64)}`);
  const deposit = (digit: string, amount: bigint) => [
    address(stage.custody.publicKey()),
    reference(digit),
    address(stage.token),
    i128(amount),
    string(`session ${digit}`),
  ];
  const held = () => stage.client.read(stage.token, 'balance', [address(settlement)]);

  it('takes the token’s transfer into its tree', async () => {
    const { client, account, custody, token } = stage;
    const source = await client.server.getAccount(account().publicKey());
    const draft = client.build(source, settlement, 'initiate_off_ramp', deposit('a', 40n));
    const simulated = await client.simulate(draft);
    const [entry, ...others] = simulated.result?.auth ?? [];
    expect(others).toEqual([]);
    const root = entry?.rootInvocation();
    const names = [root, ...(root?.subInvocations() ?? [])].map((invocation) =>
      invocation?.function().contractFn().functionName().toString(),
    );
    expect(names).toEqual(depositAuth === 'root' ? ['initiate_off_ramp', 'transfer'] : ['transfer']);
    const recorded = await client.server.simulateTransaction(draft, undefined, 'record');
    expect(rpc.Api.isSimulationSuccess(recorded)).toBe(depositAuth === 'root');
    const call = { contract: settlement, name: 'initiate_off_ramp', args: deposit('a', 40n) };
    const transaction = await byChannel(stage.account(), call, signedBy(custody));
    expect((await client.land(transaction)).status).toBe('SUCCESS');
    expect(await held()).toBe(40n);
    expect(await client.read(settlement, 'get_off_ramp', [reference('a')])).toMatchObject({
      depositor: custody.publicKey(),
      token,
      amount: 40n,
      status: ['Pending'],
    });
    expect(await client.read(settlement, 'get_off_ramp', [reference('f')])).toBeNull();
  });

  it('needs every branch of it', async () => {
    const { custody, account } = stage;
    const call = { contract: settlement, name: 'initiate_off_ramp', args: deposit('b', 1n) };
    const pruned: SignEntry = async (entry) => {
      const root = entry.rootInvocation();
      if (depositAuth === 'root') root.subInvocations([]);
      else root.function().contractFn().functionName('initiate_off_ramp');
      return signedBy(custody)(entry);
    };
    expect(await refusalOf(await byChannel(account(), call, pruned))).toBe(
      'Unauthorized function call for address',
    );
  });

  it('is settled or refunded once, and its reference used once', async () => {
    const { client, custody } = stage;
    const call = (name: string, args: xdr.ScVal[]) => client.call(custody, settlement, name, args);
    await call('initiate_off_ramp', deposit('c', 30n));
    await expect(call('initiate_off_ramp', deposit('c', 30n))).rejects.toThrow('Error(Contract, #2)');
    await expect(call('initiate_off_ramp', deposit('d', 0n))).rejects.toThrow('Error(Contract, #1)');
    await expect(call('initiate_off_ramp', deposit('d', MINTED * 2n))).rejects.toThrow(
      new RegExp(`Error\\(Contract, #5\\)[^]*contract:${stage.token}, topics:\\[error`),
    );
    const before = (await held()) as bigint;
    await call('refund_off_ramp', [reference('c')]);
    expect(await held()).toBe(before - 30n);
    await expect(call('confirm_off_ramp_settlement', [reference('c')])).rejects.toThrow(
      'Error(Contract, #3)',
    );
    await call('confirm_off_ramp_settlement', [reference('a')]);
    expect(await held()).toBe(before - 70n);
    expect(await client.read(settlement, 'treasury')).toBe(custody.publicKey());
  });
});

function isNonce(key: xdr.LedgerKey): boolean {
  return (
    key.switch().name === 'contractData' && key.contractData().key().switch().name === 'scvLedgerKeyNonce'
  );
}
