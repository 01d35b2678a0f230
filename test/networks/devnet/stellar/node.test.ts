/**
 * The node through the SDK's own client: its answers about itself, its ledger, and simulated calls.
 */
import { Account, Keypair, rpc, scValToNative } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  accountKey,
  contractDataKey,
  deployedAddress,
  instanceKey,
} from '../../../../src/ledger/network/stellar/addresses.ts';
import { stellarIdentityCheck } from '../../../../src/ledger/network/stellar/identity.ts';
import { PROTOCOLS } from '../../../../devnet/soroban/engine.ts';
import { startSorobanNode } from '../../../../devnet/soroban/startSorobanNode.ts';
import { address, string, u32, u64, variant } from '../../../support/stellar/values.ts';
import { MINTED, retireArguments, SALT, startSorobanTestbed } from '../../../support/stellar/testbed.ts';
import type { SorobanTestbed } from '../../../support/stellar/testbed.ts';

let testbed: SorobanTestbed;
beforeAll(async () => {
  testbed = await startSorobanTestbed();
});
afterAll(() => testbed.devnet.close());

describe('the node', () => {
  it('says who and how far it is', async () => {
    const { devnet, client } = testbed;
    const latest = devnet.controls.closeLedger();
    expect(await client.server.getNetwork()).toMatchObject({ passphrase: devnet.passphrase });
    expect(await client.server.getHealth()).toMatchObject({
      status: 'healthy',
      latestLedger: latest.sequence,
    });
    const ledger = await client.server.getLatestLedger();
    expect(ledger.sequence).toBe(latest.sequence);
    expect(ledger.headerXdr.scpValue().closeTime().toString()).toBe(String(latest.closedAt));
    expect(ledger.closeTime).toBe(String(latest.closedAt));
  });

  it.each(PROTOCOLS)('says its protocol, %i, which the product takes', async (protocolVersion) => {
    const node = await startSorobanNode({ closeEveryMs: null, protocolVersion });
    try {
      const { passphrase, url } = node;
      const network = await new rpc.Server(url, { allowHttp: true }).getNetwork();
      expect(Number(network.protocolVersion)).toBe(protocolVersion);
      await stellarIdentityCheck({ rpcUrl: url, requestTimeoutMs: 5_000, passphrase })();
    } finally {
      await node.stop();
    }
  });

  it('leaves controls to the program that runs it: none over HTTP', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'control.closeLedger' });
    const answer = await fetch(testbed.devnet.url, { method: 'POST', body });
    expect(await answer.json()).toMatchObject({ id: 1, error: { code: -32_601 } });
  });

  it('closes ledgers five seconds apart, or as much later as was asked for', () => {
    const { controls } = testbed.devnet;
    const first = controls.closeLedger();
    expect(controls.closeLedger()).toEqual({
      sequence: first.sequence + 1,
      closedAt: first.closedAt + 5,
    });
    controls.passTime(3_600);
    expect(controls.closeLedger().closedAt).toBe(first.closedAt + 10 + 3_600);
    expect(controls.skipLedgers(1_000)).toEqual({
      sequence: first.sequence + 1_002,
      closedAt: first.closedAt + 3_610 + 5_000,
    });
  });

  it('funds an account by its friendbot, once', async () => {
    const keys = Keypair.random();
    const account = await testbed.client.server.requestAirdrop(keys.publicKey());
    expect(account.accountId()).toBe(keys.publicKey());
    const { friendbotUrl } = await testbed.client.server.getNetwork();
    const again = await fetch(`${friendbotUrl}?addr=${keys.publicKey()}`);
    expect(again.status).toBe(400);
  });

  it('knows no other methods, and takes no body that is not JSON', async () => {
    const ask = async (body: string) =>
      (await (await fetch(testbed.devnet.url, { method: 'POST', body })).json()) as {
        error: { code: number };
      };
    expect((await ask('{"jsonrpc":"2.0","id":1,"method":"getNothing"}')).error.code).toBe(-32_601);
    expect((await ask('nonsense')).error.code).toBe(-32_700);
  });
});

describe('ledger entries', () => {
  it('are given in the order asked for, without what is not there, at most 200', async () => {
    const { client, custody, token } = testbed;
    const missing = accountKey(Keypair.random().publicKey());
    const keys = [instanceKey(token), missing, accountKey(custody.publicKey())];
    const { entries, latestLedger } = await client.server.getLedgerEntries(...keys);
    expect(entries.map(({ key }) => key.switch().name)).toEqual(['contractData', 'account']);
    expect(entries[0]?.liveUntilLedgerSeq).toBeGreaterThan(latestLedger);
    expect(entries[1]?.liveUntilLedgerSeq).toBeUndefined();
    const many = Array.from({ length: 201 }, (_, index) => contractDataKey(token, u32(index)));
    await expect(client.server.getLedgerEntries(...many)).rejects.toMatchObject({
      message: 'key count (201) exceeds maximum supported (200)',
    });
  });

  it('hold each retirement under its own key', async () => {
    const { client, custody, token } = testbed;
    await client.call(custody, token, 'retire', retireArguments(custody, 20n));
    await client.call(custody, token, 'retire', retireArguments(custody, 30n, 'Globex'));
    const keys = [0, 1, 2].map((index) => contractDataKey(token, variant('Retirement', u32(index))));
    const { entries } = await client.server.getLedgerEntries(...keys);
    const records = entries.map(({ val }) => scValToNative(val.contractData().val()) as unknown);
    expect(records).toMatchObject([
      {
        retired_by: custody.publicKey(),
        amount: 20n,
        beneficiary: 'Acme',
        retirement_note: 'for 2024',
        timestamp: expect.any(BigInt) as bigint,
      },
      { amount: 30n, beneficiary: 'Globex' },
    ]);
  });
});

describe('a simulation', () => {
  it('reports a contract error with its number', async () => {
    const { client, custody, token } = testbed;
    const retire = (amount: bigint) =>
      client.prepare(custody, token, 'retire', retireArguments(custody, amount));
    await expect(retire(0n)).rejects.toThrow('HostError: Error(Contract, #1)');
    await expect(retire(MINTED * 2n)).rejects.toThrow('HostError: Error(Contract, #2)');
  });

  it('reports that there is no contract, and no such function', async () => {
    const { client, token } = testbed;
    const noContract = deployedAddress('elsewhere', Keypair.random().publicKey(), SALT);
    await expect(client.read(noContract, 'balance')).rejects.toThrow('Error(Storage, MissingValue)');
    await expect(client.read(token, 'explode')).rejects.toThrow('Error(WasmVm, MissingValue)');
  });

  it('traps on arguments of wrong types', async () => {
    const { client, custody, token } = testbed;
    const args = [address(custody.publicKey()), u64(5n), string('a'), string('b')];
    await expect(client.prepare(custody, token, 'retire', args)).rejects.toThrow(
      'Error(WasmVm, InvalidAction)',
    );
  });

  it('gives the footprint, what it costs and what changes', async () => {
    const { devnet, client, custody, token } = testbed;
    const source = await client.server.getAccount(custody.publicKey());
    const transaction = client.build(source, token, 'retire', retireArguments(custody, 1n));
    const answer = await client.simulate(transaction);
    const resources = answer.transactionData.build().resources();
    const written = resources.footprint().readWrite().map(keyText);
    const count = (await client.read(token, 'total_retirements')) as number;
    expect(written.toSorted()).toEqual(
      ['instance', `Balance,${custody.publicKey()}`, `Retirement,${count}`].toSorted(),
    );
    expect(resources.footprint().readOnly().map(keyText)).toEqual(['contractCode']);
    expect(BigInt(answer.minResourceFee)).toBe(answer.transactionData.build().resourceFee().toBigInt());
    expect(answer.stateChanges?.map(({ type }) => String(type)).toSorted()).toEqual([
      'created',
      'updated',
      'updated',
    ]);
    expect(answer.latestLedger).toBe(devnet.controls.latest().sequence);
  });

  it('can be asked for any account that exists or not', async () => {
    const { client, token } = testbed;
    const source = new Account(Keypair.random().publicKey(), '0');
    const answer = await client.server.simulateTransaction(client.build(source, token, 'total_supply', []));
    expect(rpc.Api.isSimulationSuccess(answer)).toBe(true);
  });
});

function keyText(key: xdr.LedgerKey): string {
  if (key.switch().name !== 'contractData') return key.switch().name;
  const inner = key.contractData().key();
  if (inner.switch().name === 'scvLedgerKeyContractInstance') return 'instance';
  return String(scValToNative(inner));
}
