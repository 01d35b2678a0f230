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
/** One page has room for 20 records of this length. */
const RECORDS = 22;
/** In hexadecimal digits they fill one answer of a node. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

let testbed: EvmTestbed;
beforeAll(async () => {
  testbed = await startEvmTestbed();
});
afterAll(() => testbed.close());

it('are read in as many pages as they need', async () => {
  const { anvil, custody } = testbed;
  await anvil.rpc('evm_setBlockGasLimit', [toHex(400_000_000)]);
  const network = await testbed.open();
  const token = await mintedCarbon(network, 1n);
  const data = encodeFunctionData({ abi, functionName: 'retire', args: [1n, 'A holder', NOTE] });
  const retirement = { from: custody.address, to: token, data, gas: toHex(300_000_000) };
  for (let at = 0; at < RECORDS; at += 1) await landTransaction(anvil, retirement);
  const indexes: number[] = [];
  while (indexes.length < RECORDS) {
    const { records, totals } = await network.retirementRecords(token, indexes.length, 200);
    expect(totals.totalRetirements).toBe(RECORDS);
    expect(records.length).toBeGreaterThan(0);
    expect(records.length * NOTE.length).toBeLessThan(MAX_PAGE_BYTES);
    expect(records.every(({ note }) => note === NOTE)).toBe(true);
    indexes.push(...records.map(({ index }) => index));
  }
  expect(indexes).toEqual(Array.from({ length: RECORDS }, (_, at) => at));
}, 120_000);
