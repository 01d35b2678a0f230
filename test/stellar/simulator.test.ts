/**
 * The simulated node as the SDK's own client sees it: what it says of itself, its ledger and its contracts.
 */
import { Account, Asset, Contract, Keypair, rpc, scValToNative, xdr } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { carbonDeployArguments } from './client.ts';
import { accountKey, dataKey, deployedContract, instanceKey } from './soroban/ledgerKeys.ts';
import { address, bytes32, i128, string, struct, u32, u64, variant, VOID } from './soroban/values.ts';
import { MINTED, retireArguments, SALT, setStage } from './stage.ts';
import type { Stage } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage.simulator.close());

describe('the node', () => {
  it('says who and how far it is', async () => {
    const { simulator, client } = stage;
    const latest = simulator.controls.closeLedger();
    expect(await client.server.getNetwork()).toMatchObject({ passphrase: simulator.passphrase });
    expect(await client.server.getHealth()).toMatchObject({
      status: 'healthy',
      latestLedger: latest.sequence,
    });
    const ledger = await client.server.getLatestLedger();
    expect(ledger.sequence).toBe(latest.sequence);
    expect(ledger.headerXdr.scpValue().closeTime().toString()).toBe(String(latest.closedAt));
    expect(ledger.closeTime).toBe(String(latest.closedAt));
  });

  it('closes ledgers five seconds apart, or as much later as was asked for', () => {
    const { controls } = stage.simulator;
    const first = controls.closeLedger();
    expect(controls.closeLedger()).toEqual({
      sequence: first.sequence + 1,
      closedAt: first.closedAt + 5n,
    });
    controls.passTime(3_600);
    expect(controls.closeLedger().closedAt).toBe(first.closedAt + 10n + 3_600n);
    expect(controls.skipLedgers(1_000)).toEqual({
      sequence: first.sequence + 1_002,
      closedAt: first.closedAt + 3_610n + 5_000n,
    });
  });

  it('funds an account by its friendbot, once', async () => {
    const keys = Keypair.random();
    const account = await stage.client.server.requestAirdrop(keys.publicKey());
    expect(account.accountId()).toBe(keys.publicKey());
    const { friendbotUrl } = await stage.client.server.getNetwork();
    const again = await fetch(`${friendbotUrl}?addr=${keys.publicKey()}`);
    expect(again.status).toBe(400);
  });

  it('knows no other methods, and takes no body that is not JSON', async () => {
    const ask = async (body: string) =>
      (await (await fetch(stage.simulator.url, { method: 'POST', body })).json()) as {
        error: { code: number };
      };
    expect((await ask('{"jsonrpc":"2.0","id":1,"method":"getNothing"}')).error.code).toBe(-32_601);
    expect((await ask('nonsense')).error.code).toBe(-32_700);
  });
});

describe('ledger entries', () => {
  it('are given in the order asked for, without what is not there, at most 200', async () => {
    const { client, custody, token } = stage;
    const missing = accountKey(Keypair.random().publicKey());
    const keys = [instanceKey(token), missing, accountKey(custody.publicKey())];
    const { entries, latestLedger } = await client.server.getLedgerEntries(...keys);
    expect(entries.map(({ key }) => key.switch().name)).toEqual(['contractData', 'account']);
    expect(entries[0]?.liveUntilLedgerSeq).toBeGreaterThan(latestLedger);
    expect(entries[1]?.liveUntilLedgerSeq).toBeUndefined();
    const many = Array.from({ length: 201 }, (_, index) => dataKey(token, u32(index)));
    await expect(client.server.getLedgerEntries(...many)).rejects.toMatchObject({
      message: 'key count (201) exceeds maximum supported (200)',
    });
  });

  it('hold each retirement under its own key', async () => {
    const { client, custody, token } = stage;
    await client.call(custody, token, 'retire', retireArguments(custody, 20n));
    await client.call(custody, token, 'retire', retireArguments(custody, 30n, 'Globex'));
    const keys = [0, 1, 2].map((index) => dataKey(token, variant('Retirement', u32(index))));
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

describe('the contracts', () => {
  it('stand where factory and salt put them', () => {
    const { simulator, token } = stage;
    const salt = Buffer.from(SALT.slice(2), 'hex');
    expect(token).toBe(deployedContract(simulator.passphrase, simulator.factoryAddress, salt));
    expect(simulator.nativeAsset).toBe(Asset.native().contractId(simulator.passphrase));
  });

  it('answer as SEP-41 tokens and with their own totals', async () => {
    const { client, custody, token } = stage;
    const other = Keypair.random().publicKey();
    await client.call(custody, token, 'transfer', [address(custody.publicKey()), address(other), i128(7n)]);
    expect(await client.read(token, 'balance', [address(other)])).toBe(7n);
    expect(await client.read(token, 'decimals')).toBe(18);
    expect(await client.read(token, 'name')).toBe('Carbon Credit 2024');
    expect(await client.read(token, 'symbol')).toBe('CC24');
    expect(await client.read(token, 'status')).toEqual(['Draft']);
    const retired = (await client.read(token, 'total_retired')) as bigint;
    expect(await client.read(token, 'total_supply')).toBe(MINTED - retired);
    const count = (await client.read(token, 'total_retirements')) as number;
    const last = await client.read(token, 'get_retirement', [u32(count - 1)]);
    expect(last).toMatchObject({ retired_by: custody.publicKey() });
    await expect(client.read(token, 'get_retirement', [u32(count)])).rejects.toThrow(
      'Error(WasmVm, InvalidAction)',
    );
  });

  it('publish their events, which can be asked for by contract and topic', async () => {
    const { simulator, client, custody, token } = stage;
    const startLedger = simulator.controls.chain.history.latest().sequence + 1;
    const landed = await client.land(
      await client.prepare(custody, token, 'retire', retireArguments(custody, 5n)),
    );
    const retired = xdr.ScVal.scvSymbol('retired').toXDR('base64');
    const { events } = await client.server.getEvents({
      startLedger,
      filters: [{ type: 'contract', contractIds: [token], topics: [[retired, '*']] }],
    });
    expect(events).toHaveLength(1);
    expect(events[0]?.txHash).toBe(landed.txHash);
    expect(events[0]?.topic.map((topic) => scValToNative(topic) as unknown)).toEqual([
      'retired',
      custody.publicKey(),
    ]);
    const value = scValToNative(events[0]?.value ?? VOID) as unknown[];
    expect(value.slice(0, 2)).toEqual([5n, 'Acme']);
    const all = await client.server.getEvents({ startLedger, filters: [{ contractIds: [token] }], limit: 1 });
    expect(all.events.map(({ topic }) => scValToNative(topic[0] ?? VOID) as unknown)).toEqual(['burn']);
    const next = await client.server.getEvents({ cursor: all.cursor, filters: [] });
    expect(next.events[0]?.txHash).toBe(landed.txHash);
  });

  it('tell of a deploy, and refuse a salt that was used', async () => {
    const { simulator, client, custody } = stage;
    const startLedger = simulator.controls.chain.history.latest().sequence + 1;
    const salt = `0x${'22'.repeat(32)}`;
    const args = carbonDeployArguments(simulator, custody.publicKey(), salt);
    const deploy = () => client.call(custody, simulator.factoryAddress, 'deploy_carbon_credit_token', args);
    const token = await deploy();
    const { events } = await client.server.getEvents({
      startLedger,
      filters: [{ contractIds: [simulator.factoryAddress] }],
    });
    const [event] = events;
    expect(event?.topic.map((topic) => scValToNative(topic) as unknown)).toEqual([
      'deployed',
      ['CarbonCredit'],
    ]);
    expect(scValToNative(event?.value ?? VOID)).toEqual([
      token,
      custody.publicKey(),
      Buffer.alloc(32, 0xab),
      'KE',
    ]);
    await expect(deploy()).rejects.toThrow('HostError: Error(Storage, ExistingValue)');
  });

  it('pull a deployment fee in lumens, authorised with the deploy', async () => {
    const dear = await setStage({ deploymentFee: 70_000_000n });
    try {
      const { simulator, client, custody } = dear;
      expect(await client.read(simulator.nativeAsset, 'symbol')).toBe('native');
      expect(await client.read(simulator.factoryAddress, 'deployment_fee')).toBe(70_000_000n);
      const args = carbonDeployArguments(simulator, custody.publicKey(), `0x${'55'.repeat(32)}`);
      const source = await client.server.getAccount(custody.publicKey());
      const name = 'deploy_carbon_credit_token';
      const built = client.build(source, simulator.factoryAddress, name, args);
      const { result } = await client.simulate(built);
      const [transfer] = result?.auth[0]?.rootInvocation().subInvocations() ?? [];
      expect(transfer?.function().contractFn().functionName().toString()).toBe('transfer');
      const lumens = async () =>
        (await client.server.getAccountEntry(custody.publicKey())).balance().toBigInt();
      const before = await lumens();
      await client.call(custody, simulator.factoryAddress, name, args);
      expect(before - (await lumens())).toBeGreaterThan(70_000_000n);
    } finally {
      await dear.simulator.close();
    }
  });

  it('expire a receipt by the ledger’s clock alone', async () => {
    const { simulator, client, custody } = stage;
    const { closedAt } = simulator.controls.chain.history.latest();
    const carbon = carbonDeployArguments(simulator, custody.publicKey(), `0x${'33'.repeat(32)}`);
    const metadata = struct({
      commodity_type: string('maize'),
      quantity_kg: i128(5_000n),
      grade_classification: string('A'),
      warehouse_id: string('W1'),
      warehouse_location: string('Nakuru'),
      deposit_date: u64(closedAt),
      expiry_date: u64(closedAt + 1_000n),
      inspection_report_hash: bytes32(`0x${'00'.repeat(32)}`),
      valuation_usd: i128(10n),
      harvest_season: string('long rains'),
      last_updated: u64(closedAt),
    });
    const receipt = String(
      await client.call(custody, simulator.factoryAddress, 'deploy_commodity_receipt_token', [
        ...carbon.slice(0, 9),
        metadata,
      ]),
    );
    expect(await client.read(receipt, 'is_expired')).toBe(false);
    await expect(client.call(custody, receipt, 'mark_expired', [])).rejects.toThrow('HostError');
    simulator.controls.passTime(2_000);
    simulator.controls.closeLedger();
    expect(await client.read(receipt, 'is_expired')).toBe(true);
    await client.call(custody, receipt, 'mark_expired', []);
    expect(await client.read(receipt, 'status')).toEqual(['Expired']);
    await expect(client.read(receipt, 'total_retired')).rejects.toThrow('Error(WasmVm, MissingValue)');
  });

  it('pause, and refuse with the shared error number', async () => {
    const { client, custody, token } = stage;
    await client.call(custody, token, 'pause', []);
    expect(await client.read(token, 'is_paused')).toBe(true);
    const retire = () => client.call(custody, token, 'retire', retireArguments(custody, 1n));
    await expect(retire()).rejects.toThrow('HostError: Error(Contract, #11)');
    await client.call(custody, token, 'unpause', []);
    await retire();
  });
});

describe('a simulation', () => {
  it('tells a contract error by its number, with the log', async () => {
    const { client, custody, token } = stage;
    const retire = (amount: bigint) =>
      client.prepare(custody, token, 'retire', retireArguments(custody, amount));
    await expect(retire(0n)).rejects.toThrow(/^HostError: Error\(Contract, #1\)\n\nEvent log/);
    await expect(retire(MINTED * 2n)).rejects.toThrow(
      new RegExp(`contract:${token}, topics:\\[error, Error\\(Contract, #2\\)\\]`),
    );
  });

  it('tells that there is no contract, and no such function', async () => {
    const { client, token } = stage;
    const nobody = deployedContract('elsewhere', Keypair.random().publicKey(), Buffer.alloc(32));
    await expect(client.read(nobody, 'balance')).rejects.toThrow('Error(Storage, MissingValue)');
    await expect(client.read(token, 'explode')).rejects.toThrow('Error(WasmVm, MissingValue)');
  });

  it('traps on arguments of wrong types', async () => {
    const { client, custody, token } = stage;
    const args = [address(custody.publicKey()), u64(5n), string('a'), string('b')];
    await expect(client.prepare(custody, token, 'retire', args)).rejects.toThrow(
      'Error(WasmVm, InvalidAction)',
    );
  });

  it('gives the footprint, what it costs and what changes', async () => {
    const { simulator, client, custody, token } = stage;
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
    expect(answer.latestLedger).toBe(simulator.controls.chain.history.latest().sequence);
  });

  it('can be asked for any account that exists or not', async () => {
    const { client, token } = stage;
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

it('keeps to the SDK’s own idea of a contract’s address', () => {
  expect(new Contract(stage.token).contractId()).toBe(stage.token);
});
