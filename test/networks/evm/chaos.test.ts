/**
 * Retirements on an EVM chain while chain and node misbehave at random: blocks are reorganised, transactions
 * dropped, fees rise and fall, answers are lost, receipts denied, and old blocks shown. A worker that relies
 * only on outcomes burns each retirement once. A failure prints the seed that reproduces it.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EvmNetwork } from '../../../src/ledger/network/evm/network.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import type { Outcome, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import { TONNE, deployCarbon, prepare, retire } from '../../../devnet/calls.ts';
import type { Rule } from '../../../devnet/evm/faultyNode.ts';
import { GWEI, startEvmTestbed } from '../../support/evm/testbed.ts';
import type { EvmTestbed } from '../../support/evm/testbed.ts';

const CONFIRMATIONS = 3;
const RETIREMENTS = 12;
const MAX_OPEN = 4;
const MAX_CALM_ROUNDS = 200;

/** What happens to chain or node in one round. */
const misfortune = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: 'none' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('reorg' as const), depth: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'drop' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('fee' as const), gwei: fc.integer({ min: 1, max: 150 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'denied' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'stale' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'lost' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'cut' as const }) },
);
type Misfortune = typeof misfortune extends fc.Arbitrary<infer T> ? T : never;

/**
 * One retirement with its signed attempts. The attempts share one slot, and each later one replaces the one
 * before.
 */
interface Intent {
  note: string;
  open: PreparedTransaction[];
  landed: boolean;
}

let testbed: EvmTestbed;
let network: EvmNetwork;

beforeAll(async () => {
  testbed = await startEvmTestbed({ mining: 'on-demand', finality: { confirmations: CONFIRMATIONS } });
  network = await testbed.open({ maxOpenPerAccount: MAX_OPEN, maxFeePerGasCap: 400n * GWEI });
});
afterAll(() => testbed.close());

async function mine(blocks: number): Promise<void> {
  await testbed.anvil.mine(blocks);
}

async function landFinally(call: Parameters<typeof prepare>[1]): Promise<Outcome> {
  const prepared = await prepare(network, call);
  await network.broadcast(prepared.signedBytes);
  await mine(CONFIRMATIONS + 1);
  return network.outcome(prepared);
}

/** Ignores an unavailable network: the next round looks again. */
async function unlessUnavailable(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof NetworkUnavailable)) throw error;
  }
}

async function advance(token: string, intents: Intent[]): Promise<void> {
  for (const intent of intents.filter(({ landed }) => !landed)) {
    await unlessUnavailable(async () => {
      if (intent.open.length > 0) await settleOrSendAgain(intent);
      else await sign(token, intent, intents);
    });
  }
}

async function settleOrSendAgain(intent: Intent): Promise<void> {
  const outcomes = await Promise.all(intent.open.map((attempt) => network.outcome(attempt)));
  for (const outcome of outcomes) {
    if (outcome.status === 'refused' || outcome.status === 'undeterminable') {
      throw new Error(`${intent.note}: ${JSON.stringify(outcome, (_, value) => String(value))}`);
    }
  }
  if (outcomes.some(({ status }) => status === 'succeeded')) {
    intent.landed = true;
    return;
  }
  if (outcomes.every(({ status }) => status === 'dead')) {
    intent.open = [];
    return;
  }
  const latest = intent.open.at(-1);
  const higher = latest && (await network.replace(latest));
  if (higher) intent.open.push(higher);
  const toSend = intent.open.at(-1);
  if (toSend) await network.broadcast(toSend.signedBytes);
}

/** Signs with the smallest nonce that is neither used on the chain nor taken, as the database does. */
async function sign(token: string, intent: Intent, intents: readonly Intent[]): Promise<void> {
  const live = intents.filter(({ open }) => open.length > 0);
  if (live.filter(({ landed }) => !landed).length >= MAX_OPEN) return;
  const draft = await network.draft(retire(token, TONNE, intent.note));
  const taken = new Set(live.map(({ open }) => open[0]?.sequence));
  let sequence = (await network.nextSequences()).get(network.custodyAddress) ?? 0n;
  while (taken.has(sequence)) sequence++;
  const prepared = await draft.sign({ source: network.custodyAddress, sequence });
  intent.open = [prepared];
  await network.broadcast(prepared.signedBytes);
}

async function strike(struck: Misfortune, intents: readonly Intent[]): Promise<void> {
  switch (struck.kind) {
    case 'none':
      return;
    case 'reorg':
      // Never deeper than the blocks that the setting calls final.
      await testbed.anvil.rpc('anvil_reorg', [struck.depth, []]);
      return dropAll(intents);
    case 'drop':
      return dropAll(intents);
    case 'fee':
      await testbed.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [
        `0x${(BigInt(struck.gwei) * GWEI).toString(16)}`,
      ]);
      return;
    case 'denied':
    case 'stale':
    case 'lost':
    case 'cut':
      testbed.faulty.obey(await ruleFor(struck.kind));
  }
}

/** Makes the node forget all transactions in no block, including those just undone. */
async function dropAll(intents: readonly Intent[]): Promise<void> {
  for (const { hash } of intents.flatMap(({ open }) => open)) {
    await testbed.anvil.rpc('anvil_dropTransaction', [hash]);
  }
}

async function ruleFor(kind: 'denied' | 'stale' | 'lost' | 'cut'): Promise<Rule> {
  const { number } = (await testbed.anvil.rpc('eth_getBlockByNumber', ['latest', false])) as {
    number: string;
  };
  const older = `0x${(BigInt(number) - 2n).toString(16)}`;
  const stale = await testbed.anvil.rpc('eth_getBlockByNumber', [older, false]);
  return ({ method, params }) => {
    switch (kind) {
      case 'denied':
        return method === 'eth_getTransactionReceipt' ? { result: null } : undefined;
      case 'stale':
        return method === 'eth_getBlockByNumber' && params[0] === 'latest' ? { result: stale } : undefined;
      case 'lost':
        if (method !== 'eth_sendRawTransaction') return undefined;
        testbed.anvil.rpc(method, params).catch(() => {});
        return 'cut';
      case 'cut':
        return 'cut';
    }
  };
}

it('burns each retirement once, whatever happens', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(misfortune, { minLength: 15, maxLength: 30 }), async (misfortunes) => {
      testbed.faulty.obey();
      await testbed.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${GWEI.toString(16)}`]);
      await mine(1);
      const token = await freshToken();
      const intents = Array.from({ length: RETIREMENTS }, (_, at): Intent => ({
        note: `#${at}`,
        open: [],
        landed: false,
      }));
      for (const struck of misfortunes) {
        await strike(struck, intents);
        await advance(token, intents);
        testbed.faulty.obey();
        await mine(1);
      }
      for (let rounds = 0; intents.some(({ landed }) => !landed); rounds++) {
        if (rounds === MAX_CALM_ROUNDS) throw new Error('Some retirements never landed');
        await advance(token, intents);
        await mine(1);
      }
      const { totals, records } = await network.retirementRecords(token, 0, 200);
      expect(records.map(({ note }) => note).sort()).toEqual(intents.map(({ note }) => note).sort());
      expect(totals.totalRetired).toBe(BigInt(RETIREMENTS) * TONNE);
    }),
    { numRuns: 5 },
  );
}, 300_000);

async function freshToken(): Promise<string> {
  const deployed = await landFinally(deployCarbon());
  if (deployed.status !== 'succeeded' || deployed.result.kind !== 'deployed')
    throw new Error(deployed.status);
  const tokenAddress = deployed.result.contractAddress;
  const amount = 1000n * TONNE;
  await landFinally({ kind: 'mint', tokenAddress, to: network.custodyAddress, amount });
  return tokenAddress;
}
