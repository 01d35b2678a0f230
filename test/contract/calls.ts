/**
 * Calls and short ways through the two phases, for the contract tests.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { NetworkRefusal } from '../../src/ledger/network/port.ts';
import type {
  Address,
  CallResult,
  LedgerNetwork,
  NetworkCall,
  Outcome,
  PreparedTransaction,
  RefusalReason,
} from '../../src/ledger/network/port.ts';
import { ZERO_HASH } from '../../src/ledger/units.ts';

export const TONNE = 10n ** 18n;
/** Longer than any adapter needs to see its own transaction settled. */
const SETTLE_TIMEOUT_MS = 30_000;

export function freshSalt(): string {
  return `0x${randomBytes(32).toString('hex')}`;
}

export function deployCarbon(salt = freshSalt()): Extract<NetworkCall, { kind: 'deployCarbonCredit' }> {
  return {
    kind: 'deployCarbonCredit',
    salt,
    name: 'Mangrove restoration – Sumatra',
    symbol: 'CARB',
    assetId: `VCS-${randomUUID()}-2024`,
    countryCode: 'ID',
    metadata: {
      creditType: 'removal',
      verificationBodyRef: 'VCS-1',
      vintageYear: 2024,
      quantityCO2e: 1000n * TONNE,
      projectLocation: 'Sumatra',
      projectType: 'blue carbon',
      verificationDocHash: ZERO_HASH,
      lastUpdated: 1_700_000_000n,
    },
  };
}

export function deployReceipt(expiryDate: bigint): Extract<NetworkCall, { kind: 'deployCommodityReceipt' }> {
  return {
    kind: 'deployCommodityReceipt',
    salt: freshSalt(),
    name: 'Maize – WH-7',
    symbol: 'WHR',
    assetId: `WH-7-${randomUUID()}`,
    countryCode: 'KE',
    metadata: {
      commodityType: 'maize',
      quantityKg: 5000n,
      gradeClassification: 'A',
      warehouseId: 'WH-7',
      warehouseLocation: 'Nakuru',
      depositDate: 1_700_000_000n,
      expiryDate,
      inspectionReportHash: ZERO_HASH,
      valuationUSD: 1200n * TONNE,
      harvestSeason: '2024A',
      lastUpdated: 1_700_000_000n,
    },
  };
}

export function retire(tokenAddress: Address, amount: bigint, note = 'flight 7'): NetworkCall {
  return { kind: 'retire', tokenAddress, amount, beneficiary: 'Ünïted Øil 🌍', note };
}

/** Asks until the network has decided. */
export async function settled(network: LedgerNetwork, sent: PreparedTransaction): Promise<Outcome> {
  const giveUpAt = Date.now() + SETTLE_TIMEOUT_MS;
  for (;;) {
    const outcome = await network.outcome(sent);
    if (outcome.status !== 'pending' || Date.now() > giveUpAt) return outcome;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Both phases; fails unless the call succeeds. */
export async function land(network: LedgerNetwork, call: NetworkCall): Promise<CallResult> {
  const prepared = await network.prepare(call);
  expect(await network.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
  const outcome = await settled(network, prepared);
  if (outcome.status !== 'succeeded') throw new Error(`${call.kind}: ${JSON.stringify(outcome, showBigint)}`);
  return outcome.result;
}

export async function deploy(network: LedgerNetwork, call: NetworkCall): Promise<Address> {
  const result = await land(network, call);
  if (result.kind !== 'deployed') throw new Error(`A deploy returned ${result.kind}`);
  return result.contractAddress;
}

/** A carbon token with `tonnes` minted to custody. */
export async function mintedCarbon(network: LedgerNetwork, tonnes: bigint): Promise<Address> {
  const tokenAddress = await deploy(network, deployCarbon());
  await land(network, { kind: 'mint', tokenAddress, to: network.custodyAddress, amount: tonnes * TONNE });
  return tokenAddress;
}

/** The refusal that a promise is rejected with; fails when there is none. */
export async function refusalOf(work: Promise<unknown>): Promise<{ reason: RefusalReason; message: string }> {
  try {
    await work;
  } catch (error) {
    expect(error).toBeInstanceOf(NetworkRefusal);
    const { reason, message } = error as NetworkRefusal;
    return { reason, message };
  }
  throw new Error('Expected a refusal, and there was none');
}

function showBigint(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
