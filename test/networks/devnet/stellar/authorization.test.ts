/**
 * Who may do what on the simulated network: authorisation entries, their signatures, times and nonces.
 */
import { Address, authorizeEntry, hash, Keypair, rpc, xdr } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  assembled,
  byChannel,
  latestOf,
  refusalOf,
  signedBy,
} from '../../../support/stellar/channelCalls.ts';
import type { SignEntry } from '../../../support/stellar/channelCalls.ts';
import { address, i128 } from '../../../../devnet/stellar/soroban/values.ts';
import { retireArguments, startSorobanTestbed } from '../../../support/stellar/testbed.ts';
import type { SorobanTestbed } from '../../../support/stellar/testbed.ts';

let testbed: SorobanTestbed;
beforeAll(async () => {
  testbed = await startSorobanTestbed();
});
afterAll(() => testbed.simulator.close());

const retireCall = (amount = 1n) => ({
  contract: testbed.token,
  name: 'retire',
  args: retireArguments(testbed.custody, amount),
});

describe('an authorisation entry', () => {
  it('has a nonce to sign when another than the source is asked, and its key is in the footprint', async () => {
    const { client, custody, account } = testbed;
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
    const { client, custody, token, account } = testbed;
    const before = (await client.read(token, 'balance', [address(custody.publicKey())])) as bigint;
    const transaction = await byChannel(testbed, account(), retireCall(3n), signedBy(testbed, custody));
    expect((await client.land(transaction)).status).toBe('SUCCESS');
    expect(await client.read(token, 'balance', [address(custody.publicKey())])).toBe(before - 3n);
  });

  it('is good for one use of its nonce', async () => {
    const { client, custody, account } = testbed;
    const first = await byChannel(testbed, account(), retireCall(), signedBy(testbed, custody));
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
    expect(await refusalOf(testbed, assembled(draft, simulated, auth, again))).toBe(
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
          latestOf(testbed) + 100,
          testbed.simulator.passphrase,
        );
      },
      'failed account authentication with error',
    ],
    [
      'was signed for another time',
      async (entry: xdr.SorobanAuthorizationEntry) => {
        const signed = await signedBy(testbed, testbed.custody)(entry);
        signed
          .credentials()
          .address()
          .signatureExpirationLedger(latestOf(testbed) + 200);
        return signed;
      },
      'failed account authentication with error',
    ],
    [
      'was signed for too long a time',
      async (entry: xdr.SorobanAuthorizationEntry) => signedBy(testbed, testbed.custody, 4_000_000)(entry),
      'signature expiration is too late',
    ],
    [
      'was signed for too short a time',
      async (entry: xdr.SorobanAuthorizationEntry) => signedBy(testbed, testbed.custody, 0)(entry),
      'signature has expired',
    ],
    [
      'was signed for another amount',
      async (entry: xdr.SorobanAuthorizationEntry) => {
        const other = xdr.SorobanAuthorizationEntry.fromXDR(entry.toXDR());
        const call = other.rootInvocation().function().contractFn();
        call.args(retireArguments(testbed.custody, 2n));
        return signedBy(testbed, testbed.custody)(other);
      },
      'Unauthorized function call for address',
    ],
  ])('does not help when it %s', async (_, sign, refusal) => {
    const transaction = await byChannel(testbed, testbed.account(), retireCall(), sign);
    expect(await refusalOf(testbed, transaction)).toBe(refusal);
  });

  it('was signed for another network', async () => {
    const { custody, account } = testbed;
    const foreign: SignEntry = async (entry) => {
      const signed = await signedBy(testbed, custody)(entry);
      const elsewhere = await authorizeEntry(entry, custody, latestOf(testbed) + 100, 'Another Network');
      signed.credentials().address().signature(elsewhere.credentials().address().signature());
      return signed;
    };
    expect(await refusalOf(testbed, await byChannel(testbed, account(), retireCall(), foreign))).toBe(
      'failed account authentication with error',
    );
  });

  it('is checked by a simulation that is given it', async () => {
    const { client, custody, account } = testbed;
    const good = await byChannel(testbed, account(), retireCall(), signedBy(testbed, custody));
    expect(rpc.Api.isSimulationSuccess(await client.server.simulateTransaction(good))).toBe(true);
    const bad = await byChannel(testbed, account(), retireCall(), async (entry) => entry);
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
    const { client, custody, token, account } = testbed;
    const stranger = account();
    const args = [address(stranger.publicKey()), i128(1n)];
    await expect(client.prepare(stranger, token, 'mint', args)).rejects.toThrow('No given key can sign');
    const landed = await client.land(await client.prepare(stranger, token, 'mint', args, [custody]));
    expect(landed.status).toBe('SUCCESS');
  });
});

function isNonce(key: xdr.LedgerKey): boolean {
  return (
    key.switch().name === 'contractData' && key.contractData().key().switch().name === 'scvLedgerKeyNonce'
  );
}
