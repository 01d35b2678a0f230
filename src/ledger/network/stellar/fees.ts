/**
 * Fees of transactions: the bid for inclusion, and the price of additional resources.
 */
import { xdr } from '@stellar/stellar-sdk';
import { largest, smallest } from '../../../lib/bigints.ts';
import { nullFor } from '../../../lib/errors.ts';
import { NetworkUnavailable } from '../port.ts';
import type { StellarNode } from './node.ts';

/** The network's minimum per operation. */
export const MIN_INCLUSION_FEE_STROOPS = 100n;
/**
 * How long read settings are used, about five minutes. Validators change resource fees and limits by vote; a
 * transaction that declares by old ones is refused, and a submission has some twenty attempts.
 */
const SETTINGS_LAST_LEDGERS = 60n;

/** Resource prices, in stroops, and the maximum resources of a transaction. */
export interface ResourceSettings {
  /** Per 10,000 instructions. */
  feePerInstructionIncrement: bigint;
  feePerWriteEntry: bigint;
  feePerWriteKilobyte: bigint;
  feePerReadKilobyte: bigint;
  /** Per kilobyte of the transaction itself, for bandwidth and history. */
  feePerTransactionKilobyte: bigint;
  maxInstructions: number;
  maxWriteBytes: number;
  maxReadBytes: number;
  maxWriteEntries: number;
  maxFootprintEntries: number;
  /** For all transactions of a ledger together. */
  ledgerMaxWriteBytes: number;
  ledgerMaxWriteEntries: number;
}

/** Settings for nodes that don't show them: above the public network's past prices, and below its limits. */
const ASSUMED_SETTINGS: ResourceSettings = {
  feePerInstructionIncrement: 50n,
  feePerWriteEntry: 20_000n,
  feePerWriteKilobyte: 20_000n,
  feePerReadKilobyte: 5_000n,
  feePerTransactionKilobyte: 25_000n,
  maxInstructions: 100_000_000,
  maxWriteBytes: 65_536,
  maxReadBytes: 131_072,
  maxWriteEntries: 25,
  maxFootprintEntries: 40,
  ledgerMaxWriteBytes: 143_360,
  ledgerMaxWriteEntries: 500,
};

/**
 * The fee that most contract transactions paid recently, at most the cap; the minimum if the node does not
 * show it.
 */
export async function inclusionFeeStroops(node: StellarNode, capStroops: bigint): Promise<bigint> {
  return smallest(await usualFeeStroops(node), capStroops);
}

/**
 * The usual fee, for transactions that are signed again when they die.
 * @throws NetworkUnavailable if the usual fee is above the cap: a transaction with a lower bid would be
 *   dropped and signed again until too many attempts have died
 */
export async function feeUnderCapStroops(node: StellarNode, capStroops: bigint): Promise<bigint> {
  const usual = await usualFeeStroops(node);
  if (usual <= capStroops) return usual;
  throw new NetworkUnavailable(
    `Transactions pay ${usual} stroops per operation to be included, above the cap of ${capStroops}: it waits`,
  );
}

async function usualFeeStroops(node: StellarNode): Promise<bigint> {
  const fees = await node.inclusionFees().catch(nullIfUnavailable);
  return largest(fees?.usualStroops ?? 0n, MIN_INCLUSION_FEE_STROOPS);
}

export type ReadResourceSettings = (latestLedger: bigint) => Promise<ResourceSettings>;

export function createResourceSettings(node: StellarNode): ReadResourceSettings {
  let known: { settings: ResourceSettings; ledger: bigint } | null = null;
  return async (latestLedger) => {
    if (known && latestLedger < known.ledger + SETTINGS_LAST_LEDGERS) return known.settings;
    const settings = await readSettings(node).catch(nullIfUnavailable);
    if (settings) known = { settings, ledger: latestLedger };
    return settings ?? ASSUMED_SETTINGS;
  };
}

/** Lets the call go on without the answer: with less headroom, or a longer wait. */
export const nullIfUnavailable = nullFor(NetworkUnavailable);

async function readSettings(node: StellarNode): Promise<ResourceSettings | null> {
  const ids = {
    compute: xdr.ConfigSettingId.configSettingContractComputeV0(),
    cost: xdr.ConfigSettingId.configSettingContractLedgerCostV0(),
    costExt: xdr.ConfigSettingId.configSettingContractLedgerCostExtV0(),
    bandwidth: xdr.ConfigSettingId.configSettingContractBandwidthV0(),
    history: xdr.ConfigSettingId.configSettingContractHistoricalDataV0(),
  };
  const keyOf = (id: xdr.ConfigSettingId) =>
    xdr.LedgerKey.configSetting(new xdr.LedgerKeyConfigSetting({ configSettingId: id }));
  const { byKey } = await node.entries(Object.values(ids).map(keyOf));
  const settingOf = (id: xdr.ConfigSettingId) => byKey.get(keyOf(id).toXDR('base64'))?.configSetting();

  const compute = settingOf(ids.compute)?.contractCompute();
  const cost = settingOf(ids.cost)?.contractLedgerCost();
  const costExt = settingOf(ids.costExt)?.contractLedgerCostExt();
  const bandwidth = settingOf(ids.bandwidth)?.contractBandwidth();
  const history = settingOf(ids.history)?.contractHistoricalData();
  if (!compute || !cost || !costExt || !bandwidth || !history) return null;
  return {
    feePerInstructionIncrement: compute.feeRatePerInstructionsIncrement().toBigInt(),
    feePerWriteEntry: cost.feeWriteLedgerEntry().toBigInt(),
    feePerReadKilobyte: cost.feeDiskRead1Kb().toBigInt(),
    feePerWriteKilobyte: costExt.feeWrite1Kb().toBigInt(),
    feePerTransactionKilobyte: bandwidth.feeTxSize1Kb().toBigInt() + history.feeHistorical1Kb().toBigInt(),
    maxInstructions: Number(compute.txMaxInstructions().toBigInt()),
    maxWriteBytes: cost.txMaxWriteBytes(),
    maxReadBytes: cost.txMaxDiskReadBytes(),
    maxWriteEntries: cost.txMaxWriteLedgerEntries(),
    maxFootprintEntries: costExt.txMaxFootprintEntries(),
    ledgerMaxWriteBytes: cost.ledgerMaxWriteBytes(),
    ledgerMaxWriteEntries: cost.ledgerMaxWriteLedgerEntries(),
  };
}
