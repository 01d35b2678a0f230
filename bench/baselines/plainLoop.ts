/**
 * The baseline loop: retires, waits for the network's decision, and then begins the next retirement. It has
 * no books, no records and no crash safety.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CallResult, LedgerNetwork, NetworkCall, SequenceSlot } from '../../src/ledger/network/port.ts';
import { toBaseUnits, ZERO_HASH } from '../../src/ledger/units.ts';

const POLL_MS = 50;
/** A write that takes longer fails. */
const PATIENCE_MS = 120_000;

/** @returns writes per second */
export async function runPlainLoop(network: LedgerNetwork, count: number): Promise<number> {
  const tokenAddress = await deployToken(network, BigInt(count));
  const startedMs = performance.now();
  for (let number = 0; number < count; number++) {
    const amount = toBaseUnits(1n);
    await land(network, {
      kind: 'retire',
      tokenAddress,
      amount,
      beneficiary: 'Bench Ltd',
      note: `#${number}`,
    });
  }
  return count / ((performance.now() - startedMs) / 1000);
}

async function deployToken(network: LedgerNetwork, tonnes: bigint): Promise<string> {
  const { closedAt } = await network.status();
  const deployed = await land(network, {
    kind: 'deployCarbonCredit',
    salt: `0x${randomBytes(32).toString('hex')}`,
    name: 'Baseline',
    symbol: 'CARB',
    assetId: `BASELINE-${randomBytes(4).toString('hex')}`,
    countryCode: 'KE',
    metadata: {
      creditType: 'VCU',
      verificationBodyRef: 'BASELINE',
      vintageYear: 2024,
      quantityCO2e: toBaseUnits(tonnes),
      projectLocation: 'Kasigau Corridor',
      projectType: 'REDD+',
      verificationDocHash: ZERO_HASH,
      lastUpdated: closedAt,
    },
  });
  if (deployed.kind !== 'deployed') throw new Error(`a deploy returned ${deployed.kind}`);
  const tokenAddress = deployed.contractAddress;
  await land(network, {
    kind: 'mint',
    tokenAddress,
    to: network.custodyAddress,
    amount: toBaseUnits(tonnes),
  });
  return tokenAddress;
}

async function land(network: LedgerNetwork, call: NetworkCall): Promise<CallResult> {
  const draft = await network.draft(call);
  const prepared = await draft.sign(await nextSlot(network));
  await network.broadcast(prepared.signedBytes);
  const giveUpMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const outcome = await network.outcome(prepared);
    if (outcome.status === 'succeeded') return outcome.result;
    if (outcome.status !== 'pending') throw new Error(`${call.kind} is ${outcome.status}`);
    if (performance.now() > giveUpMs) throw new Error(`${call.kind} was not decided in time`);
    await delay(POLL_MS);
  }
}

async function nextSlot(network: LedgerNetwork): Promise<SequenceSlot | null> {
  const [next] = await network.nextSequences();
  return next ? { source: next[0], sequence: next[1] } : null;
}
