/**
 * Two nodes behind one address, one of which is behind: it delays nothing for long.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EvmNetwork } from '../../../src/ledger/network/evm/network.ts';
import type { EvmNetworkOptions } from '../../../src/ledger/network/evm/options.ts';
import type { PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { mintedCarbon, prepareAll, retire, TONNE } from '../../../devnet/calls.ts';
import { startNodesInTurns } from '../../support/evm/nodesInTurns.ts';
import { startEvmTestbed, type EvmTestbed } from '../../support/evm/testbed.ts';

const LAG_BLOCKS = 20;
/** Age of the block that this node calls finalized, in blocks. */
const FINALIZED_BLOCKS = 64;

let testbed: EvmTestbed;
let nodes: Awaited<ReturnType<typeof startNodesInTurns>>;
beforeAll(async () => {
  testbed = await startEvmTestbed();
  nodes = await startNodesInTurns(testbed.anvil.url);
});
afterAll(async () => {
  await nodes.close();
  await testbed.close();
});

describe.each<{ finality: EvmNetworkOptions['finality']; blocks: number }>([
  { finality: { confirmations: 0 }, blocks: 1 },
  { finality: { confirmations: 3 }, blocks: 4 },
  { finality: 'finalized', blocks: FINALIZED_BLOCKS + 1 },
])('with $finality, a node that is behind', ({ finality, blocks }) => {
  let network: EvmNetwork;
  let token: string;
  let sent: PreparedTransaction;
  beforeAll(async () => {
    token = await mintedCarbon(await testbed.open(), 9n);
    // Both nodes know these blocks.
    await testbed.anvil.mine(FINALIZED_BLOCKS + 2 * LAG_BLOCKS);
    nodes.lagBlocks = 0;
    network = await testbed.open({ rpcUrl: nodes.url, finality });
    const minted = {
      kind: 'mint',
      tokenAddress: token,
      to: network.custodyAddress,
      amount: 9n * TONNE,
    } as const;
    const prepared = await prepareAll(network, [retire(token, TONNE), minted]);
    for (const { signedBytes } of prepared) await network.broadcast(signedBytes);
    [sent] = prepared;
    await testbed.anvil.mine(blocks);
    await network.status();
    nodes.lagBlocks = LAG_BLOCKS;
  });
  // Adds a block that nothing has read yet.
  beforeEach(() => testbed.anvil.mine(1));

  const next = () => (sent.sequence ?? 0n) + 2n;
  /** A deposit of more than custody held before the mint. */
  const deposit = () =>
    ({ kind: 'depositOffRamp', sessionId: 'a', tokenAddress: token, amount: 15n * TONNE }) as const;
  const nextBy = async (by: 'latest' | 'final') =>
    (await network.nextSequences(by)).get(network.custodyAddress);

  describe.each([false, true])('that answers first: %s', (isBehindNext) => {
    it.each<[string, () => Promise<unknown>, () => unknown]>([
      ['status', async () => (await network.status()).ledger > 0n, () => true],
      ['outcome', async () => (await network.outcome(sent)).status, () => 'succeeded'],
      ['reads', async () => (await network.carbonTotals(token)).totalRetirements, () => 1],
      ['records', async () => (await network.retirementRecords(token, 0, 1)).records.length, () => 1],
      ['latest sequence', () => nextBy('latest'), next],
      ['final sequence', () => nextBy('final'), next],
      ['deposit', () => network.checkDeposit(deposit(), network.custodyAddress), () => undefined],
      ['draft', async () => typeof (await network.draft(retire(token, TONNE))).sign, () => 'function'],
    ])('is asked again: %s', async (_, asked, expected) => {
      nodes.isBehindNext = isBehindNext;
      expect(await asked()).toEqual(expected());
    });
  });
});
