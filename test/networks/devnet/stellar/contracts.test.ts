/**
 * The contracts on the network, called through the SDK: their addresses, answers and events.
 */
import { Asset, Contract, Keypair, scValToNative, xdr } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { carbonDeployArguments } from '../../../support/stellar/client.ts';
import { deployedAddress } from '../../../../src/ledger/network/stellar/addresses.ts';
import { address, bytes32, i128, string, struct, u32, u64, VOID } from '../../../support/stellar/values.ts';
import { MINTED, retireArguments, SALT, startSorobanTestbed } from '../../../support/stellar/testbed.ts';
import type { SorobanTestbed } from '../../../support/stellar/testbed.ts';

let testbed: SorobanTestbed;
beforeAll(async () => {
  testbed = await startSorobanTestbed();
});
afterAll(() => testbed.devnet.close());

describe('the contracts', () => {
  it('stand where factory and salt put them', () => {
    const { devnet, token } = testbed;
    expect(token).toBe(deployedAddress(devnet.passphrase, devnet.factoryAddress, SALT));
    expect(new Contract(token).contractId()).toBe(token);
    expect(devnet.nativeAsset).toBe(Asset.native().contractId(devnet.passphrase));
  });

  it('answer as SEP-41 tokens and with their own totals', async () => {
    const { client, custody, token } = testbed;
    const other = Keypair.random().publicKey();
    await client.call(custody, token, 'transfer', [address(custody.publicKey()), address(other), i128(7n)]);
    expect(await client.read(token, 'balance', [address(other)])).toBe(7n);
    expect(await client.read(token, 'decimals')).toBe(18);
    expect(await client.read(token, 'name')).toBe('Carbon Credit 2024');
    expect(await client.read(token, 'symbol')).toBe('CC24');
    expect(await client.read(token, 'status')).toEqual(['Draft']);
    await client.call(custody, token, 'retire', retireArguments(custody, 20n));
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
    const { devnet, client, custody, token } = testbed;
    const startLedger = devnet.controls.latest().sequence + 1;
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

  it('announce a deploy, and refuse a salt that was used', async () => {
    const { devnet, client, custody } = testbed;
    const startLedger = devnet.controls.latest().sequence + 1;
    const salt = `0x${'22'.repeat(32)}`;
    const args = carbonDeployArguments(devnet, custody.publicKey(), salt);
    const deploy = () => client.call(custody, devnet.factoryAddress, 'deploy_carbon_credit_token', args);
    const token = await deploy();
    const { events } = await client.server.getEvents({
      startLedger,
      filters: [{ contractIds: [devnet.factoryAddress] }],
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
    const dear = await startSorobanTestbed({ deploymentFee: 70_000_000n });
    try {
      const { devnet, client, custody } = dear;
      expect(await client.read(devnet.nativeAsset, 'symbol')).toBe('native');
      expect(await client.read(devnet.factoryAddress, 'deployment_fee')).toBe(70_000_000n);
      const args = carbonDeployArguments(devnet, custody.publicKey(), `0x${'55'.repeat(32)}`);
      const source = await client.server.getAccount(custody.publicKey());
      const name = 'deploy_carbon_credit_token';
      const built = client.build(source, devnet.factoryAddress, name, args);
      const { result } = await client.simulate(built);
      const [transfer] = result?.auth[0]?.rootInvocation().subInvocations() ?? [];
      expect(transfer?.function().contractFn().functionName().toString()).toBe('transfer');
      const lumens = async () =>
        (await client.server.getAccountEntry(custody.publicKey())).balance().toBigInt();
      const before = await lumens();
      await client.call(custody, devnet.factoryAddress, name, args);
      expect(before - (await lumens())).toBeGreaterThan(70_000_000n);
    } finally {
      await dear.devnet.close();
    }
  });

  it('expire a receipt by the ledger’s clock alone', async () => {
    const { devnet, client, custody } = testbed;
    const closedAt = BigInt(devnet.controls.latest().closedAt);
    const carbon = carbonDeployArguments(devnet, custody.publicKey(), `0x${'33'.repeat(32)}`);
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
      await client.call(custody, devnet.factoryAddress, 'deploy_commodity_receipt_token', [
        ...carbon.slice(0, 9),
        metadata,
      ]),
    );
    expect(await client.read(receipt, 'is_expired')).toBe(false);
    // The deployed contract does not check the date, so its manager must.
    await client.call(custody, receipt, 'mark_expired', []);
    expect(await client.read(receipt, 'status')).toEqual(['Expired']);
    expect(await client.read(receipt, 'is_expired')).toBe(false);
    devnet.controls.passTime(2_000);
    devnet.controls.closeLedger();
    expect(await client.read(receipt, 'is_expired')).toBe(true);
    await expect(client.read(receipt, 'total_retired')).rejects.toThrow('Error(WasmVm, MissingValue)');
  });

  it('pause, and refuse with the shared error number', async () => {
    const { client, custody, token } = testbed;
    await client.call(custody, token, 'pause', []);
    expect(await client.read(token, 'is_paused')).toBe(true);
    const retire = () => client.call(custody, token, 'retire', retireArguments(custody, 1n));
    await expect(retire()).rejects.toThrow('HostError: Error(Contract, #11)');
    await client.call(custody, token, 'unpause', []);
    await retire();
  });
});
