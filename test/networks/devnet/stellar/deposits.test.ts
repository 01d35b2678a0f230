/**
 * The settlement contract on the network: a deposit's tree of authorisations in both forms in use, and the
 * fate of its deposits.
 */
import { rpc } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { byChannel, refusalOf, signedBy } from '../../../support/stellar/channelCalls.ts';
import type { SignEntry } from '../../../support/stellar/channelCalls.ts';
import type { DepositAuth } from '../../../../devnet/stellar/contracts.ts';
import { address, bytes32, i128, string } from '../../../support/stellar/values.ts';
import { MINTED, startSorobanTestbed } from '../../../support/stellar/testbed.ts';
import type { SorobanTestbed } from '../../../support/stellar/testbed.ts';

describe.each<DepositAuth>(['root', 'nested'])('a deposit, authorised at the %s', (depositAuth) => {
  let testbed: SorobanTestbed;
  let settlement: string;

  beforeAll(async () => {
    testbed = await startSorobanTestbed({ depositAuth });
    const { devnet, client, custody } = testbed;
    const owner = address(custody.publicKey());
    settlement = String(
      await client.call(custody, devnet.settlementFactory, 'deploy_ramp_settlement', [
        owner,
        address(devnet.nativeAsset),
        bytes32(`0x${'44'.repeat(32)}`),
        owner,
        owner,
      ]),
    );
  });
  afterAll(() => testbed.devnet.close());

  const reference = (digit: string) => bytes32(`0x${digit.repeat(64)}`);
  const deposit = (digit: string, amount: bigint) => [
    address(testbed.custody.publicKey()),
    reference(digit),
    address(testbed.token),
    i128(amount),
    string(`session ${digit}`),
  ];
  const held = () => testbed.client.read(testbed.token, 'balance', [address(settlement)]);

  it('takes the token’s transfer into its tree', async () => {
    const { client, account, custody, token } = testbed;
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
    const transaction = await byChannel(testbed, testbed.account(), call, signedBy(testbed, custody));
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
    const { custody, account } = testbed;
    const call = { contract: settlement, name: 'initiate_off_ramp', args: deposit('b', 1n) };
    const pruned: SignEntry = async (entry) => {
      const root = entry.rootInvocation();
      if (depositAuth === 'root') root.subInvocations([]);
      else root.function().contractFn().functionName('initiate_off_ramp');
      return signedBy(testbed, custody)(entry);
    };
    expect(await refusalOf(testbed, await byChannel(testbed, account(), call, pruned))).toBe(
      'Unauthorized function call for address',
    );
  });

  it('is settled or refunded once, and its reference used once', async () => {
    const { client, custody } = testbed;
    const call = (name: string, args: xdr.ScVal[]) => client.call(custody, settlement, name, args);
    await call('initiate_off_ramp', deposit('c', 30n));
    await expect(call('initiate_off_ramp', deposit('c', 30n))).rejects.toThrow('Error(Contract, #2)');
    await expect(call('initiate_off_ramp', deposit('d', 0n))).rejects.toThrow('Error(Contract, #1)');
    await expect(call('initiate_off_ramp', deposit('d', MINTED * 2n))).rejects.toThrow('Error(Contract, #5)');
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
