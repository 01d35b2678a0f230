/**
 * Retirement records of holders who write as much as a block takes: some chains have blocks of hundreds of
 * millions of gas, and a contract can make longer texts than a transaction may bring.
 */
import { encodeFunctionData, parseAbi, toHex } from 'viem';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mintedCarbon } from '../../../devnet/calls.ts';
import { landTransaction } from '../../../devnet/evm/landTransaction.ts';
import { startEvmTestbed, type EvmTestbed } from '../../support/evm/testbed.ts';

const abi = parseAbi(['function retire(uint256 amount, string beneficiary, string note)']);
const NOTE = 'x'.repeat(400_000);
/** One answer has room for 20 records of this length. */
const RECORDS = 22;

let testbed: EvmTestbed;
beforeAll(async () => {
  testbed = await startEvmTestbed();
});
afterAll(() => testbed.close());

it('are read in as many batches as they need', async () => {
  const { anvil, custody } = testbed;
  await anvil.rpc('evm_setBlockGasLimit', [toHex(400_000_000)]);
  const network = await testbed.open();
  const token = await mintedCarbon(network, 1n);
  const data = encodeFunctionData({ abi, functionName: 'retire', args: [1n, 'A holder', NOTE] });
  const retirement = { from: custody.address, to: token, data, gas: toHex(300_000_000) };
  for (let at = 0; at < RECORDS; at += 1) await landTransaction(anvil, retirement);
  const { records } = await network.retirementRecords(token, 0, 200);
  expect(records.map(({ index }) => index)).toEqual(Array.from({ length: RECORDS }, (_, at) => at));
  expect(records.every(({ note }) => note === NOTE)).toBe(true);
}, 120_000);
